"""Questions to the receiver of a handoff, made from the facts, and answers graded without a model. Pure.

What is asked is the same for every handoff: nothing of the facts stands in a question, so that whoever answers
can only know it from what was delivered. An answer counts by what it names, not by how it is put: sentences by
their words in order, files by their path, commits by their hash. `replies` tells how.

A receiver that repeats everything it was given has shown nothing: what is beside the point counts against it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from segue.base.text import begun
from segue.briefs import grading, render, select
from segue.facts import constraints
from segue.model import Brief, Fact, Fate, Origin, Receipt, Section, Tier, Value
from segue.model.brief_format import RESENT

MOST = 12
"""How many questions are put at most."""
LONGEST_COMMAND = 140
"""How much of a command every brief holds, in characters."""
LONGEST_WORDS = 4000
MOST_BESIDE = 400
FEWEST_WRONG, SHARE_WRONG = 2, 5
"""How many wrong answers a list may have besides the right ones: two, or one for every five that are due."""
REPEATED = 2
"""To how many questions one thing can be the answer: what is given to more is no answer to any."""


class Topic(Value, frozen=True):
    """Something that is asked."""

    question: str
    most: int = 1
    """How many answers are due: the latest."""


TOPICS = {
    "constraint": Topic(
        question="What has the user forbidden, insisted on, or corrected? "
        "Each of their sentences, word for word.",
        most=40,
    ),
    "test": Topic(question="Which tests fail? Their names; of more than ten, the last ten.", most=10),
    "error": Topic(
        question="Which errors are still open? Each as reported, word for word; of more than ten, the last ten.",
        most=10,
    ),
    "next step": Topic(question="What did the agent say that it would do next? Word for word."),
    "todo": Topic(
        question="Which tasks are still open? Each word for word; of more than ten, the last ten.", most=10
    ),
    "question": Topic(question="Which question of the agent is still waiting for the user's answer? Word for word."),
    "file": Topic(
        question="Which files were created, edited, renamed or deleted last? The paths of the last five.",
        most=5,
    ),
    "command": Topic(question="Which command failed last? As it was run."),
    "commit": Topic(question="Which commit is the last one? Its hash."),
    "branch": Topic(question="On which branch is the work?"),
}
"""What is asked, by the kind of facts that hold the answer; what must not be lost comes first."""
BESIDE = {
    "error": ("test", "command"),
    "next step": ("todo", "question"),
    "todo": ("next step", "question"),
    "question": ("next step",),
}
"""Kinds that an answer may speak of besides: not asked for, and not wrong."""


class Probe(Value, frozen=True):
    """A question to the receiver of a handoff whose right answers the facts hold."""

    kind: str
    question: str
    expected: tuple[str, ...]
    subject: str
    """The title of the part of a brief that the answer stands in."""
    lines: tuple[str, ...]
    """For each that is expected, how a brief puts it."""
    beside: tuple[str, ...] = ()
    """What may be said as well without being wrong."""

    @property
    def most_wrong(self) -> int:
        if TOPICS[self.kind].most == 1:
            return 0
        return max(FEWEST_WRONG, len(self.expected) // SHARE_WRONG)


class Graded(Value, frozen=True):
    """What one probe was answered with, and what that is worth."""

    probe: Probe
    answer: tuple[str, ...] | None
    """None where there was none that could be read."""
    found: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    """What was said that is neither asked for nor so."""

    @property
    def is_right(self) -> bool:
        """Everything that is due is there, and little else."""
        return not self.lost and len(self.wrong) <= self.probe.most_wrong

    @property
    def recall(self) -> float:
        return len(self.found) / len(self.probe.expected)

    @property
    def precision(self) -> float:
        """None of nothing is wrong."""
        said = len(self.found) + len(self.wrong)
        return len(self.found) / said if said else 1.0


class Report(Value, frozen=True):
    """What the receiver proved to hold."""

    score: float
    """The mean over the probes of the share that was found, from 0 to 1; a probe with too much that is wrong counts
    nothing. 0 where nothing could be asked: then nothing is proved."""
    results: tuple[Graded, ...]

    @property
    def right(self) -> int:
        return sum(one.is_right for one in self.results)

    @property
    def failed(self) -> tuple[Probe, ...]:
        """What to ask again once it has been sent again."""
        return tuple(one.probe for one in self.results if not one.is_right)

    @property
    def has_failed(self) -> bool:
        """Fewer than half of the answers are right: saying the rest again is no remedy then."""
        return 2 * self.right < len(self.results)

    @property
    def is_proved(self) -> bool:
        return bool(self.results) and not self.failed


# What is asked


def questions(receipt: Receipt, *, facts_passed_only: bool = True) -> tuple[Probe, ...]:
    """What can be asked of whoever got what a receipt says: one probe for each topic that there are facts of."""
    every = [line.fact for line in receipt.lines]
    known = [line.fact for line in receipt.lines if line.fate is Fate.PASSED or not facts_passed_only]
    found = (_probe(kind, _due(kind, known), every) for kind in TOPICS)
    return tuple(probe for probe in found if probe)[:MOST]


def topic_of(fact: Fact) -> str:
    """The topic whose answers this fact is one of; empty if it is of none."""
    if fact.kind in ("constraint", "correction"):
        return "constraint" if fact.kind == "correction" or select.is_pinned(fact) else ""
    if fact.kind == "command":
        return "command" if fact.value.startswith("failed") else ""
    is_over = fact.value in select.SETTLED.get(fact.kind, ())
    return fact.kind if fact.kind in TOPICS and not is_over else ""


def _due(kind: str, facts: Sequence[Fact]) -> list[Fact]:
    """The latest facts of a topic, each answer once."""
    of_kind = [fact for fact in facts if topic_of(fact) == kind and _can_be_said(fact)]
    if kind == "commit" and of_kind and of_kind[-1].value == "mentioned":
        # A person named it; whether it is the last one, a brief does not tell.
        return []
    once = {answer_of(fact): fact for fact in reversed(of_kind)}
    return list(once.values())[: TOPICS[kind].most][::-1]


def _probe(kind: str, due: Sequence[Fact], every: Sequence[Fact]) -> Probe | None:
    if not due:
        return None
    expected = tuple(answer_of(fact) for fact in due)
    beside = [text for fact in every for text in _beside(fact, kind)]
    beside += [fact.value for fact in due if kind == "commit"]
    return Probe(
        kind=kind,
        question=TOPICS[kind].question,
        expected=expected,
        subject=render.title_of(due[0]),
        lines=tuple(_line(fact) for fact in due),
        beside=tuple(dict.fromkeys(text for text in beside if text and text not in expected))[-MOST_BESIDE:],
    )


def _beside(fact: Fact, kind: str) -> Iterator[str]:
    """What a fact adds to what may be said as well."""
    if kind == "constraint":
        if fact.kind == "instruction":
            yield from constraints.sentences(fact.value[:LONGEST_WORDS])
        elif fact.kind in ("constraint", "correction"):
            yield fact.value
    elif topic_of(fact) in BESIDE.get(kind, ()) or (topic_of(fact) == kind and TOPICS[kind].most > 1):
        yield answer_of(fact)


def answer_of(fact: Fact) -> str:
    """What a fact is told by: as much of it as every brief holds that it is passed in."""
    match fact.kind:
        case "test" | "todo" | "file" | "commit":
            return fact.subject
        case "command":
            return begun(fact.text or fact.subject, LONGEST_COMMAND).removesuffix(" …")
        case "error":
            return fact.note or fact.subject
    return fact.value


def _can_be_said(fact: Fact) -> bool:
    return any(char.isalnum() for char in answer_of(fact))


def _line(fact: Fact) -> str:
    label = render.LABELS.get(fact.kind)
    return f"{label}: {render.line(fact)}" if label else render.line(fact)


def ask(probes: Sequence[Probe], nonce: str) -> str:
    """The questions as they are put to the receiver, under a name that nobody can know beforehand."""
    form = ", ".join(f'"{number}": ["…"]' for number in range(1, len(probes) + 1))
    numbered = "\n".join(f"{number}. {probe.question}" for number, probe in enumerate(probes, 1))
    return (
        f"# Check {nonce}\n"
        "Before you go on: say what you know of this work. Answer from what you were given and from nothing else: "
        "use no tools, read no files, change nothing. Answer with one JSON object and nothing else, with a list of "
        "strings for each question:\n"
        f'{{"answers": {{{form}}}}}\n'
        "One thing to a string, no remarks. Where it says word for word, leave nothing out and change nothing. Give an "
        "empty list for what you do not know; what you guess counts against you.\n\n"
        f"{numbered}\n"
    )


def right_reply(probes: Sequence[Probe]) -> str:
    """The shortest reply in which everything is right: what answering costs at least."""
    answers = {str(number): list(probe.expected) for number, probe in enumerate(probes, 1)}
    return msgspec.json.encode({"answers": answers}).decode()


def price(tokens_of_delivery: int, tokens_of_questions: int, tokens_of_answers: int = 0) -> int:
    """How many tokens asking costs: what was delivered is read once more, with the questions behind it, and answered.
    A vendor that keeps what was read lately asks less for most of it."""
    return tokens_of_delivery + tokens_of_questions + tokens_of_answers


# What the answers are worth


def parse(reply: str) -> dict[str, tuple[str, ...]]:
    """The answers in a reply, by the number of the question; what cannot be read is not there."""
    return grading.answers_in(reply)


def grade(probes: Sequence[Probe], reply: str) -> Report:
    """A reply, held against what was expected."""
    answers = parse(reply)
    given = Counter(item for items in answers.values() for item in {grading.plain(item) for item in items})
    repeated = {item for item, times in given.items() if times > REPEATED}
    results = [_graded(probe, answers.get(str(number)), repeated) for number, probe in enumerate(probes, 1)]
    return _report(results)


def _graded(probe: Probe, answer: tuple[str, ...] | None, repeated: set[str]) -> Graded:
    items = [item for item in answer or () if grading.plain(item) not in repeated]
    wrong = [item for item in answer or () if grading.plain(item) in repeated]
    judged = grading.judged_all(items, (*probe.expected, *probe.beside), probe.kind)
    return Graded(
        probe=probe,
        answer=answer,
        found=tuple(text for text in probe.expected if text in judged.named),
        lost=tuple(text for text in probe.expected if text not in judged.named),
        wrong=(*wrong, *judged.wrong),
    )


def _report(results: Sequence[Graded]) -> Report:
    shares = [one.recall if len(one.wrong) <= one.probe.most_wrong else 0.0 for one in results]
    return Report(score=sum(shares) / len(shares) if shares else 0.0, results=tuple(results))


def merged(first: Report, again: Report) -> Report:
    """What is proved after the failed probes were asked again."""
    newer = {one.probe: one for one in again.results}
    return _report([newer.get(one.probe, one) for one in first.results])


# What must be sent again


def missing(report: Report) -> tuple[Section, ...]:
    """What failed, as it reads in a brief; only the person's words have a person's origin. Where all was there, but
    too much besides, it is the whole of what is so."""
    found: dict[str, list[str]] = {}
    for one in report.results:
        if not one.is_right:
            found.setdefault(one.probe.subject, []).extend(_missing_lines(one))
    return tuple(
        Section(
            title=title,
            origin=Origin.HUMAN if name in render.HUMAN else Origin.ASSISTANT,
            lines=tuple(dict.fromkeys(found[title])),
        )
        for name, title in render.TITLES.items()
        if title in found
    )


def _missing_lines(graded: Graded) -> Iterator[str]:
    for text, line in zip(graded.probe.expected, graded.probe.lines, strict=True):
        if text in graded.lost or not graded.lost:
            yield line


def resend(report: Report, nonce: str) -> str:
    """What is said to a receiver that did not know all; empty where it did. The nonce is one of its own."""
    sections = missing(report)
    if not sections:
        return ""
    return render.render(
        Brief(tier=Tier.METADATA, budget=0, tokens=0, sections=sections, source=RESENT, nonce=nonce)
    )
