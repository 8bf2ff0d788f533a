"""Rendering of a brief: the wording of each fact, the order of the sections, and the whole as Markdown. Pure.

Models follow best what comes first and last. So a brief opens with what the user insists on, and ends with the next
step. Only the user's words are outside the fence. Everything from agents and tools is data.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from enum import IntEnum

from msgspec import Struct

from segue.base import fence
from segue.base.text import begun
from segue.facts import constraints
from segue.facts.pasted_text import without_pasted
from segue.facts.relevance import LEFT
from segue.model import Brief, Fact, Origin, Section
from segue.model.brief_format import HEADING as HEADING
from segue.model.brief_format import HUMAN as HUMAN
from segue.model.brief_format import RULES
from segue.model.brief_format import TITLES as TITLES

SECTION = {
    "correction": "constraint",
    "folder": "state",
    "branch": "state",
    "worktree": "state",
    "commit": "state",
    "pull request": "state",
    "url": "state",
    "id": "state",
    "port": "state",
    "version": "state",
    "image": "state",
    "name": "file",
    "read": "file",
    "delegation": "pending",
    "summary": "reply",
    "rule": "plan",
}
CALLED = {
    "talk": "earlier reply",
    "findings": "report of another agent",
    "content": "content of a file",
    "read": "file that was only read",
}
"""How a kind is called in a brief, where its own name would not be understood."""
LEAD = {"summary": "(the agent's summary of the conversation before it was compacted) "}
WORDY = ("instruction", "plan", "findings", "reply", "summary", "talk")
FEW_WORDS = 4
"""A first line with fewer words ('# Plan') says too little by itself."""


class About(Struct, frozen=True):
    """The work that a brief is about."""

    title: str = ""
    source: str = ""
    transcript: str = ""


def section_of(fact: Fact) -> str:
    if fact.kind == "command" and fact.value.startswith("failed"):
        return "failure"
    return SECTION.get(fact.kind, fact.kind)


def title_of(fact: Fact) -> str:
    return TITLES[section_of(fact)]


class Room(IntEnum):
    """How much room there is. Where not everything fits, plans are shortened first, then messages and commands."""

    AMPLE = 0
    SCARCE = 1
    TIGHT = 2


def line(fact: Fact, budget: int = 8000, *, room: Room = Room.AMPLE) -> str:
    """The text of a fact: one item of a list, or part of a line. The less room, the shorter."""
    if fact.kind in WORDY:
        return _wordy(fact, budget, room)
    with_note = f" ({fact.note})" if fact.note else ""
    match fact.kind:
        case "content" | "stay":
            return f"{fact.subject}:\n{fact.value}"
        case "next step":
            return fact.value + (f" (done since: {fact.note})" if fact.note else "")
        case "file":
            return f"{fact.subject}: {fact.value}{with_note}"
        case "command":
            return f"`{command(fact, room)}`: {fact.value}{with_note}"
        case "error":
            return fact.note or fact.subject
        case "todo":
            return fact.subject + (" (in progress)" if fact.value == "active" else "")
        case "decision":
            about = shortened(fact.subject, 300) if fact.value == "rejected" else _headline(fact.subject)
            return f"{about} -> {fact.value}" + (f": {fact.note}" if fact.note else "")
        case "pending" | "delegation" | "worktree":
            return f"{fact.subject}: {fact.value}"
        case "test" | "name" | "read" | "url" | "id" | "port" | "version" | "image":
            return fact.subject
        case "commit" | "pull request":
            return f"{fact.subject} {fact.value}".removesuffix(" mentioned").removesuffix(" seen")
    return fact.value


def _wordy(fact: Fact, budget: int, room: Room) -> str:
    """The text of a long statement, with its middle left out where it is too long."""
    half = max(300, budget // 2)
    match fact.kind:
        case "instruction":
            limit = max(400, budget // 4 if room is Room.TIGHT else budget)
            is_whole = not room or len(fact.value) <= limit
            return fact.value if is_whole else _message(fact.value, limit)
        case "plan":
            # A plan that the agent follows stays whole where there is room: its end is often what is left to do.
            over = f" ({fact.note})" if fact.note else ""
            return shortened(fact.value, half if room or over else 2 * budget) + over
        case "findings":
            return f"{_headline(fact.subject)}\n{shortened(fact.value, half)}"
    return LEAD.get(fact.kind, "") + shortened(fact.value, half)


def command(fact: Fact, room: Room) -> str:
    """A command as a brief shows it."""
    return begun(fact.text or fact.subject, 140 if room is Room.TIGHT else 320)


def _message(text: str, limit: int) -> str:
    """A long message, shortened. Sentences that were cut out and might be constraints follow it, in up to half of the
    room: a message that takes more than its share is left out completely."""
    mark, words = " […] ", without_pasted(text)
    room = limit // 2
    fewest = shortened(words, limit - room - len(mark))
    doubtful = []
    for one in constraints.doubtful(text):
        if one not in fewest and len(mark + one) <= room:
            doubtful.append(one)
            room -= len(mark + one)
    used = sum(len(mark + one) for one in doubtful)
    is_whole = len(words) + used <= limit
    short = words if is_whole else shortened(words, limit - used - len(mark))
    return mark.join([short, *(one for one in doubtful if one not in short)])


def written(fact: Fact, line: str) -> str:
    """A line as it appears in the brief: marks and indents take room, too."""
    return indented(line, is_human=section_of(fact) in HUMAN)


def _headline(text: str) -> str:
    """A question, or the beginning of a plan or a script: a current plan appears in full elsewhere."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    first = lines[:2] if len(lines) > 1 and len(lines[0].split()) < FEW_WORDS else lines[:1]
    return shortened(" ".join(first), 300) + (" …" if len(lines) > len(first) else "")


def shortened(text: str, limit: int) -> str:
    """The beginning and the end of a long text, with a mark for what is missing."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    return f"{text[:head].rstrip()} […] {text[head - limit :].lstrip()}"


def sections(lines: Iterable[tuple[Fact, str]]) -> tuple[Section, ...]:
    """The chosen lines by section, in their order."""
    found: dict[str, list[tuple[Fact, str]]] = {}
    for fact, text in lines:
        found.setdefault(section_of(fact), []).append((fact, text))
    result = []
    for name, title in TITLES.items():
        if name in found:
            origin = Origin.HUMAN if name in HUMAN else Origin.ASSISTANT
            result.append(Section(title=title, origin=origin, lines=_ordered(name, found[name])))
    return tuple(result)


LABELS = {
    "folder": "Folder",
    "branch": "Branch",
    "worktree": "Worktrees",
    "commit": "Commits",
    "pull request": "Pull requests",
    "url": "URLs",
    "id": "Ids",
    "port": "Ports",
    "version": "Versions",
    "image": "Images",
}
"""Kinds whose facts share one line."""


def _ordered(name: str, lines: Sequence[tuple[Fact, str]]) -> tuple[str, ...]:
    if name == "state":
        kinds = dict.fromkeys(fact.kind for fact, _ in lines)
        return tuple(
            f"{LABELS[kind]}: " + "; ".join(text for fact, text in lines if fact.kind == kind)
            for kind in LABELS
            if kind in kinds
        )
    if name == "file":
        return _files(lines)
    return tuple(dict.fromkeys(text for _, text in lines))


def _files(lines: Sequence[tuple[Fact, str]]) -> tuple[str, ...]:
    """Files with the names that were used in them, then names without a file."""
    named: dict[str, list[str]] = {}
    left: list[str] = []
    shown = {fact.subject for fact, _ in lines if fact.kind == "file"}
    for fact, text in sorted(lines, key=lambda pair: -pair[0].weight):
        if fact.kind == "name" and fact.note == LEFT:
            left.append(text)
        elif fact.kind == "name":
            named.setdefault(fact.value if fact.value in shown else "", []).append(text)
    result = []
    for fact, text in lines:
        if fact.kind == "file":
            names = named.get(fact.subject)
            result.append(f"{text} · {', '.join(names)}" if names else text)
    read = [fact.subject for fact, _ in lines if fact.kind == "read" and fact.subject not in shown]
    if read:
        result.append("Read: " + ", ".join(read))
    if left:
        result.append("Listed, not opened yet: " + ", ".join(left))
    if named.get(""):
        result.append("Names in use: " + ", ".join(named[""]))
    return tuple(result)


def render(brief: Brief) -> str:
    """A brief as the receiver reads it."""
    words, data = _words_and_data(brief.sections, brief.nonce)
    if brief.rewritten_by:
        data = f"The agent's words were rewritten by {fence.one_line(brief.rewritten_by, 60)}.\n{data}"
    if brief.not_passed:
        data = f"Not passed: {'; '.join(brief.not_passed)}\n{data}"
    return f"{HEADING}\n{brief.source} {RULES}\n" + words + _fenced(data, brief.nonce)


def render_sections(sections: Sequence[Section], nonce: str) -> str:
    """Sections alone, with everything but the user's words inside a fence."""
    words, data = _words_and_data(sections, nonce)
    return words + (_fenced(data, nonce) if data else "")


def _words_and_data(sections: Sequence[Section], nonce: str) -> tuple[str, str]:
    """The user's words, and everything else."""
    words = "".join(_section(section) for section in sections if section.origin is Origin.HUMAN)
    data = "".join(_section(section) for section in sections if section.origin is not Origin.HUMAN)
    # Nobody can guess the nonce. If it leaks, it still must not open a fence in the user's words.
    return words.replace(nonce, fence.MARK * len(nonce)) if nonce else words, data


def _fenced(data: str, nonce: str) -> str:
    return "\n" + fence.fenced([data.strip("\n")], nonce) + "\n"


def _section(section: Section) -> str:
    is_human = section.origin is Origin.HUMAN
    lines = [f"- {indented(text, is_human=is_human)}\n" for text in section.lines]
    return f"\n## {section.title}\n" + "".join(lines)


@functools.lru_cache(maxsize=4096)
def indented(text: str, *, is_human: bool = False) -> str:
    """Neutral text with all lines but the first indented, so that no text can start an item or a section."""
    return "\n  ".join(fence.neutral(text, is_human=is_human).splitlines())
