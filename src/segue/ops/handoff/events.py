"""Event that every handoff records: trigger, context preservation, outcome and lessons.

Every value is measured or comes from a person. Unknown values stay None, and the record proves every lesson. An event
can be finished several times as more becomes known.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from segue.base import fence
from segue.briefs import goals, grading, probes, select
from segue.briefs.probes import Report
from segue.model import Fact, Fate, Handoff, Origin, Receipt, Trigger, TriggerType, Urgency
from segue.model.handoff import Cause, ContextPreservation, HandoffEvent, Outcome

ASKED_FOR = "requested by the user"
LONGEST_REASON = 200
LONGEST_QUOTE = 100
CORRECTION_COSTS = 0.1
"""Reduction of the continuity score for each correction by the user."""
KEY_WORDS = 12
"""Number of leading words of a fact that a text must contain; briefs truncate longer facts."""
OPEN = ("open", "active")
MOST_LESSONS = 8
MOST_LEFT_OUT = 3
"""Number of fact kinds listed as not fitting into the brief."""
CALLED = {
    "test": "failing test",
    "error": "open error",
    "todo": "open task",
    "file": "changed file",
    "command": "failed command",
}
BY_VALUE = (
    *("constraint", "correction", "instruction", "plan", "rule", "question", "next step", "branch", "folder"),
    *("reply", "summary", "talk"),
)
"""Kinds whose text is their value; for others it is their subject."""


# At the start


def begin(handoff: Handoff, trigger: Trigger | None, receipt: Receipt) -> HandoffEvent:
    """Event of a handoff that was just prepared. Without a trigger, the user requested it."""
    kept = select.preservation(receipt)
    return HandoffEvent(
        id=handoff.id,
        session_id=handoff.session,
        timestamp=handoff.created_at,
        trigger=_cause(trigger, handoff.reason),
        source=handoff.source,
        target=handoff.target,
        context_preservation=ContextPreservation(
            attempted=kept.attempted,
            successful=kept.successful,
            failed=kept.failed,
            preservation_score=round(kept.preservation_score, 4),
        ),
    )


def _cause(trigger: Trigger | None, reason: str) -> Cause:
    if trigger is None:
        said = fence.one_line(reason, LONGEST_REASON) or ASKED_FOR
        trigger = Trigger(
            type=TriggerType.USER_REQUEST, confidence=1.0, reasoning=said, urgency=Urgency.MEDIUM
        )
    return Cause(
        type=trigger.type.value,
        confidence=trigger.confidence,
        reasoning=trigger.reasoning,
        urgency=trigger.urgency.value,
    )


# At the end


def finish(
    event: HandoffEvent,
    receipt: Receipt,
    *,
    facts_after: Sequence[Fact] = (),
    report: Report | None = None,
    first: Report | None = None,
    held: float | None = None,
    tokens: int = 0,
    whole: int | None = None,
) -> HandoffEvent:
    """Event with its outcome. Unknown values keep their earlier value; lessons are replaced.

    `facts_after` come from the target's work after the brief. `report` grades the target's final answers, `first` its
    answers before anything was sent again. `held` is the share of the facts that its transcript contains
    (`passed_share`). `tokens` is the size of what it had to read, and `whole` the size of the source's context.
    """
    before = tuple(line.fact for line in receipt.lines)
    outcome = Outcome(
        task_completion=completion(before, facts_after),
        efficiency=efficiency(tokens, whole),
        context_continuity=continuity(before, facts_after, report, held),
    )
    return msgspec.structs.replace(
        event,
        outcome=_over(event.outcome, outcome),
        lessons=lessons_of(receipt, facts_after, report, first),
    )


def rated(event: HandoffEvent, satisfaction: float) -> HandoffEvent:
    """Event with the user's rating, from 0 to 1."""
    said = Outcome(user_satisfaction=max(0.0, min(1.0, satisfaction)))
    return msgspec.structs.replace(event, outcome=_over(event.outcome, said))


def _over(known: Outcome, new: Outcome) -> Outcome:
    told = {name: value for name, value in msgspec.structs.asdict(new).items() if value is not None}
    return msgspec.structs.replace(known, **told)


def efficiency(tokens: int, whole: int | None) -> float | None:
    """Share of the source's context that the target did not have to read: 0.95 for a brief of 8,000 tokens from a
    context of 160,000, and 0 if it read as much as there was."""
    if tokens <= 0 or not whole or whole <= 0:
        return None
    return round(max(0.0, 1 - tokens / whole), 4)


def continuity(
    before: Sequence[Fact], after: Sequence[Fact], report: Report | None, held: float | None
) -> float | None:
    """Share of the facts that the target kept: by its answers to questions, or else by its transcript; reduced for
    each correction by the user."""
    share = report.score if report and report.results else held
    if share is None:
        return None
    lost = CORRECTION_COSTS * len(_said_anew(before, after, "correction"))
    return round(max(0.0, min(1.0, share) - lost), 4)


def shown(receipt: Receipt, text: str) -> float | None:
    """Share of the passed facts that a text of the target contains; None if no fact was passed."""
    passed = [line.fact for line in receipt.lines if line.fate is Fate.PASSED]
    keys = [key for key in map(_key, passed) if key]
    if not keys:
        return None
    said = _run(grading.words(text))
    return sum(_run(key) in said for key in keys) / len(keys)


def _key(fact: Fact) -> Sequence[str]:
    if fact.kind == "command":
        text = probes.answer_of(fact)
    elif fact.kind == "error":
        text = fact.note or fact.subject
    else:
        text = fact.value if fact.kind in BY_VALUE else fact.subject
    return grading.words(text)[:KEY_WORDS]


def _run(words: Sequence[str]) -> str:
    return f" {' '.join(words)} "


# Task completion


def completion(before: Sequence[Fact], after: Sequence[Fact]) -> float | None:
    """Share of open or new tasks and of failing tests that are done; None without tasks and tests. It is 1 only if
    there are tasks and nothing fails."""
    tasks, tests = _tasks(before, after), _tests(before, after)
    at_stake = [*tasks, *tests]
    is_passing = any(fact.kind == "test" and fact.value == "passing" for fact in after)
    if not at_stake:
        return goals.UNSURE if is_passing else None
    share = sum(at_stake) / len(at_stake)
    is_broken = any((fact.kind, fact.value) in (("test", "failing"), ("error", "open")) for fact in after)
    return round(share if tasks and not is_broken else min(share, goals.UNSURE), 4)


def _tasks(before: Sequence[Fact], after: Sequence[Fact]) -> list[bool]:
    """Whether each task is done. A task that the target reworded looks like a new one, so earlier open tasks count as
    open only if the target used that list."""
    was = {grading.plain(fact.subject): fact.value for fact in before if fact.kind == "todo"}
    now = {grading.plain(fact.subject): fact.value for fact in after if fact.kind == "todo"}
    was_open = {name for name, value in was.items() if value in OPEN}
    at_stake = {name: value == "done" for name, value in now.items() if name in was_open or name not in was}
    if was_open & now.keys():
        at_stake |= dict.fromkeys(was_open - now.keys(), False)
    return [is_done for name, is_done in at_stake.items() if now.get(name) != "dropped"]


def _tests(before: Sequence[Fact], after: Sequence[Fact]) -> list[bool]:
    """Whether each test that failed before or fails now passes; empty if the target ran no tests."""
    now = {fact.subject: fact.value == "passing" for fact in after if fact.kind == "test"}
    if not now:
        return []
    failed = {fact.subject for fact in before if (fact.kind, fact.value) == ("test", "failing")}
    known = {name: _passes(name, now) for name in failed}
    new = [name for name, is_passing in now.items() if not is_passing and not _told(name, failed)]
    return [*known.values(), *(False for _ in new)]


def _passes(test: str, now: Mapping[str, bool]) -> bool:
    """Whether a test passes in every folder that it was reported from."""
    results = [is_passing for name, is_passing in now.items() if _told(name, {test})]
    return bool(results) and all(results)


def _told(name: str, tests: set[str]) -> bool:
    return name in tests or any(name.endswith("/" + one) or one.endswith("/" + name) for one in tests)


# Lessons


def lessons_of(
    receipt: Receipt, after: Sequence[Fact] = (), report: Report | None = None, first: Report | None = None
) -> tuple[str, ...]:
    """Short sentences that the record proves."""
    return tuple(itertools.islice(_lessons(receipt, after, report, first), MOST_LESSONS))


def _lessons(
    receipt: Receipt, after: Sequence[Fact], report: Report | None, first: Report | None
) -> Iterator[str]:
    before = tuple(line.fact for line in receipt.lines)
    for kind, count in _lost(first).items():
        yield f"{_counted(count, kind)} had to be sent again"
    for kind, count in _lost(report).items():
        yield f"the target could not recall {_counted(count, kind)}"
    if times := len(_said_anew(before, after, "correction")):
        yield f"the user corrected the target {'once' if times == 1 else f'{times} times'}"
    if again := _said_again(before, after):
        yield f"the user had to repeat {_counted(again, 'constraint')}"
    for question in _asked_again(before, after):
        yield f"the target asked again: {fence.one_line(question, LONGEST_QUOTE)}"
    left_out = Counter(line.fact.kind for line in receipt.lines if line.reason == "over budget")
    for kind, count in left_out.most_common(MOST_LEFT_OUT):
        yield f"{_counted(count, kind)} did not fit into the brief"


def _lost(report: Report | None) -> dict[str, int]:
    return {one.probe.kind: len(one.lost) for one in report.results if one.lost} if report else {}


def _counted(count: int, kind: str) -> str:
    word = CALLED.get(kind, kind)
    many = word + ("es" if word.endswith("ch") else "s")
    return f"{count} {word if count == 1 else many}"


def _said_anew(before: Sequence[Fact], after: Sequence[Fact], kind: str) -> list[Fact]:
    """What the user said only after the handoff. Quotes in the brief are not new."""
    known = [fact.value for fact in before if fact.origin is Origin.HUMAN]
    return [
        fact
        for fact in after
        if fact.kind == kind and fact.origin is Origin.HUMAN and not grading.is_within(fact.value, known)
    ]


def _said_again(before: Sequence[Fact], after: Sequence[Fact]) -> int:
    """Number of constraints that the user had to repeat."""
    known = [fact.value for fact in before if fact.kind == "constraint"]
    said = [fact.value for fact in after if fact.kind == "constraint" and fact.origin is Origin.HUMAN]
    return len({one for text in said for one in grading.says_bound(text, known)})


def _asked_again(before: Sequence[Fact], after: Sequence[Fact]) -> list[str]:
    """Questions that the user had decided before and was asked again."""
    decided = {grading.plain(fact.subject) for fact in before if fact.kind == "decision"}
    asked = [fact.value for fact in after if fact.kind == "question"]
    asked += [fact.subject for fact in after if fact.kind == "decision"]
    return [
        text for text in dict.fromkeys(asked) if text.endswith(("?", "？")) and grading.plain(text) in decided
    ]
