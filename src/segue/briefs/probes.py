"""Questions to the receiver of a handoff, made from the facts, and answers graded without a model. Pure.

The questions are the same for every handoff and contain no facts, so that the receiver can know the answers only from
what was delivered. An answer counts by what it names, not by its wording: sentences by their words in order, files by
path, commits by hash (see `grading`).

A receiver that repeats everything has shown nothing: irrelevant items count against it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from segue.base.text import begun
from segue.briefs import grading, render, select
from segue.facts import constraints
from segue.model import Fact, Fate, Origin, Receipt, Section, Value

MOST = 12
"""At most this many questions."""
LONGEST_COMMAND = 140
"""Every brief contains at least this many characters of a command."""
LONGEST_WORDS = 4000
MOST_BESIDE = 400
FEWEST_WRONG, SHARE_WRONG = 2, 5
"""A list may contain this many wrong answers: two, or one for every five expected."""
REPEATED = 2
"""One item can answer at most this many questions: given to more, it answers none."""


class Topic(Value, frozen=True):
    """One kind of question."""

    question: str
    most: int = 1
    """At most this many answers are expected: the latest."""


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
    "question": Topic(
        question="Which question of the agent is still waiting for the user's answer? Word for word."
    ),
    "file": Topic(
        question="Which files were created, edited, renamed or deleted last? The paths of the last five.",
        most=5,
    ),
    "command": Topic(question="Which command failed last? As it was run."),
    "commit": Topic(question="Which commit is the last one? Its hash."),
    "branch": Topic(question="On which branch is the work?"),
}
"""The question for each kind of fact, most important first."""
BESIDE = {
    "error": ("test", "command"),
    "next step": ("todo", "question"),
    "todo": ("next step", "question"),
    "question": ("next step",),
}
"""Kinds that an answer may mention besides: not asked for, and not wrong."""


class Probe(Value, frozen=True):
    """A question to the receiver of a handoff, with the answers from the facts."""

    kind: str
    question: str
    expected: tuple[str, ...]
    subject: str
    """The title of the section of a brief that contains the answer."""
    lines: tuple[str, ...]
    """The line in a brief for each expected answer."""
    beside: tuple[str, ...] = ()
    """Items that are not expected, and not wrong."""

    @property
    def most_wrong(self) -> int:
        if TOPICS[self.kind].most == 1:
            return 0
        return max(FEWEST_WRONG, len(self.expected) // SHARE_WRONG)


class Graded(Value, frozen=True):
    """The answer to one probe, and its grade."""

    probe: Probe
    answer: tuple[str, ...] | None
    """None if it could not be parsed."""
    found: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    """Items that are neither expected nor true."""

    @property
    def is_right(self) -> bool:
        """Everything expected is there, and little else."""
        return not self.lost and len(self.wrong) <= self.probe.most_wrong

    @property
    def recall(self) -> float:
        return len(self.found) / len(self.probe.expected)

    @property
    def precision(self) -> float:
        """1.0 for an empty answer."""
        said = len(self.found) + len(self.wrong)
        return len(self.found) / said if said else 1.0


class Report(Value, frozen=True):
    """What the receiver proved to know."""

    score: float
    """The mean over the probes of the share that was found, from 0 to 1. A probe with too many wrong items counts 0.
    0 without any probe: then nothing is proved."""
    results: tuple[Graded, ...]

    @property
    def right(self) -> int:
        return sum(one.is_right for one in self.results)

    @property
    def failed(self) -> tuple[Probe, ...]:
        """The probes to ask again after the facts were sent again."""
        return tuple(one.probe for one in self.results if not one.is_right)

    @property
    def has_failed(self) -> bool:
        """Fewer than half of the answers are right: sending the rest again would not help."""
        return 2 * self.right < len(self.results)

    @property
    def is_proved(self) -> bool:
        return bool(self.results) and not self.failed


# Questions


def questions(receipt: Receipt, *, facts_passed_only: bool = True) -> tuple[Probe, ...]:
    """The probes for a receipt: one for each topic that has facts."""
    every = [line.fact for line in receipt.lines]
    known = [line.fact for line in receipt.lines if line.fate is Fate.PASSED or not facts_passed_only]
    found = (_probe(kind, _due(kind, known), every) for kind in TOPICS)
    return tuple(probe for probe in found if probe)[:MOST]


def topic_of(fact: Fact) -> str:
    """The topic that this fact answers; empty if none."""
    if fact.kind in ("constraint", "correction"):
        return "constraint" if fact.kind == "correction" or select.is_pinned(fact) else ""
    if fact.kind == "command":
        return "command" if fact.value.startswith("failed") else ""
    is_over = fact.value in select.SETTLED.get(fact.kind, ())
    return fact.kind if fact.kind in TOPICS and not is_over else ""


def _due(kind: str, facts: Sequence[Fact]) -> list[Fact]:
    """The latest facts of a topic, each answer once."""
    of_kind = [fact for fact in facts if topic_of(fact) == kind and any(map(str.isalnum, answer_of(fact)))]
    if kind == "commit" and of_kind and of_kind[-1].value == "mentioned":
        # The user mentioned it; a brief does not show whether it is the last one.
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
    """What a fact adds to the items that are not wrong."""
    if kind == "constraint":
        if fact.kind == "instruction":
            yield from constraints.sentences(fact.value[:LONGEST_WORDS])
        elif fact.kind in ("constraint", "correction"):
            yield fact.value
    elif topic_of(fact) in BESIDE.get(kind, ()) or (topic_of(fact) == kind and TOPICS[kind].most > 1):
        yield answer_of(fact)


def answer_of(fact: Fact) -> str:
    """The text that answers with a fact: only as much as every brief contains if the fact is passed."""
    match fact.kind:
        case "test" | "todo" | "file" | "commit":
            return fact.subject
        case "command":
            return begun(fact.text or fact.subject, LONGEST_COMMAND).removesuffix(" …")
        case "error":
            return fact.note or fact.subject
    return fact.value


def _line(fact: Fact) -> str:
    label = render.LABELS.get(fact.kind)
    return f"{label}: {render.line(fact)}" if label else render.line(fact)


def ask(probes: Sequence[Probe], nonce: str) -> str:
    """The message with the questions, under a heading that nobody can guess."""
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
    """The shortest reply with every answer right: the least that answering costs."""
    answers = {str(number): list(probe.expected) for number, probe in enumerate(probes, 1)}
    return msgspec.json.encode({"answers": answers}).decode()


def price(tokens_of_delivery: int, tokens_of_questions: int, tokens_of_answers: int = 0) -> int:
    """The number of tokens that asking costs: the delivery is read once more, with the questions, and answered. With
    a vendor's cache it costs less."""
    return tokens_of_delivery + tokens_of_questions + tokens_of_answers


# Grades


def parse(reply: str) -> dict[str, tuple[str, ...]]:
    """The answers in a reply, by the number of the question."""
    return grading.answers_in(reply)


def grade(probes: Sequence[Probe], reply: str) -> Report:
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


# Sending again


def missing(report: Report) -> tuple[Section, ...]:
    """The failed answers as sections of a brief; only the user's words have a human origin. Where everything was
    found but with too many wrong items, all expected lines."""
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
