"""Blocks of an aider history as entries, with the state of those before."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from segue.agents.shared.transcripts.limit_text import LONGEST, limit_in, tells_of_limit
from segue.agents.shared.transcripts.reader import INTERRUPT, number_of, text_of
from segue.base import clock
from segue.base.clock import Moment
from segue.base.hashes import short_hash
from segue.model import Ending, Entry, EntryKind, Origin, Spend, Tokens

START, PROMPT, OUTPUT, REPLY, EMPTY = "start", "prompt", "output", "reply", "empty"

STARTED = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*")
FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
QUESTION = re.compile(r"[^\n]*\(Y\)es/\(N\)o[^\n]*\]: \S*")
"""A question that aider asked. If it also answered it, it writes both like a prompt."""

VERSION = re.compile(r"Aider v(\d\S*)")
MODEL = re.compile(r"(?:Main model|Model|Architect model): (\S+) with ")
FOLDER = re.compile(r"Git working dir: (.+)")
"""The folder that names in the chat are relative to. By default, the one that aider was started in."""
CREATION = re.compile(
    r"(?:Create new file|Allow creation of new file (\S+))\?(?: \([^\n]*\]:)? (?:y|a)", re.I
)
"""That a file may be made, which was agreed to; it is named in the question, or in the line before."""
EDIT = re.compile(r"(?:Applied edit to|Did not apply edit to) ")
COMMIT = re.compile(r"Commit [0-9a-f]{6,40} ")
FAILURE = re.compile(r"(?:litellm\.)?\w+(?:Error|Exception): ")
INTERRUPTION = re.compile(r"\^C(?: again to exit| KeyboardInterrupt)")
_NUMBER = r"([\d.,]+)([kM]?)"
TOKENS = re.compile(
    rf"Tokens: {_NUMBER} sent(?:, {_NUMBER} cache write)?(?:, {_NUMBER} cache hit)?, {_NUMBER} received"
)
COST = re.compile(r"Cost: \$([\d.]+) (?:message|send)\b")
UNITS = {"": 1, "k": 1_000, "M": 1_000_000}

KNOWN = (TOKENS, EDIT, COMMIT, FAILURE, INTERRUPTION, QUESTION, VERSION)
"""Output that may follow a reply directly."""

MOST_CREATING = 100
ANSWERED = ("/ask", "/code", "/architect", "/help", "/context")
"""Commands that a model answers."""


def start_of(line: str) -> re.Match[str] | None:
    return STARTED.fullmatch(line)


def is_known_output(line: str) -> bool:
    text = line.removeprefix(">").strip()
    return any(words.match(text) for words in KNOWN)


def fence_after(fence: str, line: str) -> str:
    """The code fence that is open after a line; empty if none."""
    found = FENCE.fullmatch(line)
    if found is None:
        return fence
    mark, rest = found.group(1), found.group(2)
    if not fence:
        return mark if mark[0] == "~" or "`" not in rest else ""
    is_closing = mark[0] == fence[0] and len(mark) >= len(fence) and not rest.strip()
    return "" if is_closing else fence


@dataclass
class Block:
    """Lines that belong together, and their position in the file."""

    kind: str
    start: int
    end: int
    lines: list[str]
    fence: str = ""

    def add(self, line: str, end: int) -> None:
        self.lines.append(line)
        self.end = end

    @property
    def native(self) -> dict[str, Any]:
        """The lines as written, without trailing empty lines: another one may follow."""
        last = max((number for number, line in enumerate(self.lines, 1) if line.strip()), default=0)
        return {"type": self.kind, "offset": self.start, "text": "\n".join(self.lines[:last])}

    @property
    def text(self) -> str:
        """The text without the prefixes."""
        match self.kind:
            case "prompt":
                return "\n".join(line[4:].removeprefix(" ").rstrip() for line in self.lines)
            case "output":
                first, *rest = self.lines
                return "\n".join([first[1:].removeprefix(" "), *rest]).rstrip()
        return "\n".join(self.lines).strip()


class Told:
    """State after the blocks so far. It is stored in a mark, so that a later read continues from it."""

    def __init__(self, state: dict[str, Any]) -> None:
        self.last = text_of(state.get("last"))
        """The id of the last entry."""
        self.chain = text_of(state.get("chain"))
        """A hash of everything read: the same answer has the same hash in a copy of the file."""
        self.started = text_of(state.get("started")) or None
        self.version = text_of(state.get("version"))
        self.model = text_of(state.get("model"))
        self.folder = text_of(state.get("folder"))
        self.output = text_of(state.get("output"))
        """The last output of aider."""
        self.creating: list[str] = [*(state.get("creating") or ())]
        """The files that it may create."""
        self.ending = text_of(state.get("ending")) or Ending.ENDED.value
        """An edit is applied after its reply. It leaves nothing due, unlike other results."""
        self.is_spaced: bool | None = state.get("is_spaced")
        """Whether prefixed lines end in two spaces in this file; None if unknown."""
        self.is_near = bool(state.get("is_near"))
        """Whether the line before has a prefix."""

    def state(self) -> dict[str, Any]:
        return dict(vars(self))

    def learned(self) -> dict[str, Any]:
        told = {"version": self.version, "model": self.model, "ending": Ending(self.ending)}
        return {name: value for name, value in told.items() if value}

    def entry(self, block: Block) -> Entry:
        """The entry of a block."""
        text = block.text
        content = f"{self.chain}\n{block.kind}\n{text}".encode(errors="replace")
        self.chain = short_hash(content).hex()
        self._agree(text if block.kind in (PROMPT, OUTPUT) else "")
        match block.kind:
            case "start":
                said = self._start(text)
            case "prompt":
                said = self._prompt(text)
            case "output":
                said = self._output(text)
            case _:
                if self.ending != Ending.INTERRUPTED:
                    self.ending = Ending.ENDED.value
                said = {"kind": EntryKind.REPLY, "origin": Origin.ASSISTANT, "model": self.model or None}
        shared = {"id": str(block.start), "parent": self.last or None, "cwd": self.folder or None}
        self.last = str(block.start)
        return Entry(**{**shared, "text": text, "native": block.native, **said})

    def _agree(self, text: str) -> None:
        """Note that a file may be created: the question comes before the edit."""
        found = CREATION.match(text)
        if found and (name := found[1] or self.output):
            self.creating = [*self.creating, name][-MOST_CREATING:]
        self.output = text if "\n" not in text else ""

    def _edit(self, text: str) -> dict[str, Any]:
        name = text.removeprefix("Applied edit to ")
        is_new = name in self.creating
        self.creating = [one for one in self.creating if one != name]
        return {"kind": EntryKind.RESULT, "origin": Origin.TOOL, "tool": "create" if is_new else "edit"}

    def _start(self, text: str) -> dict[str, Any]:
        found = start_of(text)
        self.started = _moment(found.group(1)) if found else None
        self.folder = ""
        self.creating = []
        return _note("start", at=self.started)

    def _prompt(self, text: str) -> dict[str, Any]:
        if text == "<blank>" or QUESTION.fullmatch(text):
            return _note("prompt")
        if not text.startswith(("/", "!")) or text.startswith(ANSWERED):
            self.ending = Ending.OPEN.value
        return {"kind": EntryKind.PROMPT, "origin": Origin.HUMAN}

    def _output(self, text: str) -> dict[str, Any]:
        for words, name in ((VERSION, "version"), (MODEL, "model"), (FOLDER, "folder")):
            if found := words.match(text):
                setattr(self, name, found.group(1).strip())
                return _note(name)
        if found := TOKENS.match(text):
            return _note("tokens", spend=self._spend(found, text))
        if EDIT.match(text):
            return self._edit(text)
        if COMMIT.match(text):
            return {"kind": EntryKind.RESULT, "origin": Origin.TOOL, "tool": "commit"}
        if INTERRUPTION.match(text) and self.ending == Ending.OPEN:
            self.ending = Ending.INTERRUPTED.value
            return _note(INTERRUPT)
        if FAILURE.match(text):
            return self._failure(text)
        return _note("output", origin=Origin.TOOL)

    def _failure(self, text: str) -> dict[str, Any]:
        if not tells_of_limit(text[:LONGEST]):
            return _note("output", origin=Origin.TOOL, is_error=True)
        self.ending = Ending.LIMIT.value
        limits = (limit_in(text, None, self.model),)
        return {**_note("output", is_error=True, limits=limits), "kind": EntryKind.LIMIT}

    def _spend(self, found: re.Match[str], text: str) -> Spend:
        """Some of the input may have come from a cache or been written to one."""
        parts = found.groups()
        sent, write, hit, received = (_count(*parts[n : n + 2]) for n in range(0, 8, 2))
        cost = COST.search(text)
        return Spend(
            key=f"aider-{self.chain}",
            model=self.model,
            tokens=Tokens(
                input=max(0, sent - write - hit), output=received, cache_read=hit, cache_write=write
            ),
            at=self.started,
            cost_usd=_price(cost.group(1)) if cost else None,
        )


def _note(tool: str, **more: Any) -> dict[str, Any]:
    return {"kind": EntryKind.NOTE, "origin": Origin.SYSTEM, "tool": tool, **more}


def _count(number: str | None, unit: str | None) -> int:
    found = _price((number or "0").replace(",", "")) or 0.0
    return round(found * UNITS[unit or ""]) if found < 1e9 else 0


def _price(number: str) -> float | None:
    return number_of(number)


def _moment(local: str) -> Moment | None:
    try:
        return clock.moment(datetime.strptime(local, "%Y-%m-%d %H:%M:%S").astimezone())
    except (ValueError, OverflowError, OSError):
        return None
