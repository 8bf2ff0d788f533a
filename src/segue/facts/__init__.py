"""Entries in, facts out: what was asked, done and found, each with its current value. Pure, no model.

A later value takes the place of an earlier one: what stands here is what holds at the end. This is a
first, small extractor (docs/limits.md says what it does not see yet).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from segue.model import Entry, EntryKind, Fact, Origin

CONSTRAINT = re.compile(r"\b(do not|don't|never|must not|must|only|without|instead of|stop)\b", re.IGNORECASE)
CORRECTION = re.compile(
    r"^\s*(no\b|nope|wrong|stop\b|wait\b|not (that|what|like))"
    r"|\b(that'?s (wrong|not (right|what|it))|i (said|told you|meant)|you (forgot|missed|broke|ignored)"
    r"|(undo|revert) (that|this|it|your)|not what i|still (fails|failing|broken|wrong|not working)|try again)\b",
    re.IGNORECASE,
)
FAILED_TEST = re.compile(r"^FAILED (\S+)", re.MULTILINE)
PASSED_TEST = re.compile(r"^(\S+::\S+) PASSED", re.MULTILINE)
NEXT_STEP = re.compile(r"^next(?: step)?:\s*(.+)$", re.IGNORECASE | re.MULTILINE)
SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
FILE_TOOLS = {"write": "created", "edit": "edited", "delete": "deleted"}


class _Ledger:
    """The newest value of each subject, in the order in which the values came about."""

    def __init__(self) -> None:
        self.facts: dict[tuple[str, str], Fact] = {}

    def put(self, kind: str, subject: str, value: str, entry: Entry) -> None:
        self.facts.pop((kind, subject), None)
        self.facts[kind, subject] = Fact(
            kind=kind, subject=subject, value=value, entry=entry.id, origin=entry.origin
        )

    def value(self, kind: str, subject: str) -> str | None:
        fact = self.facts.get((kind, subject))
        return fact.value if fact else None


def is_correction(text: str) -> bool:
    """Whether a person's words tell an agent that it went wrong."""
    return CORRECTION.search(text[:400]) is not None


def derive(entries: Iterable[Entry]) -> tuple[Fact, ...]:
    """The facts of a transcript, the latest last."""
    ledger = _Ledger()
    called: dict[str, Entry] = {}
    for entry in entries:
        if entry.kind is EntryKind.PROMPT and entry.origin is Origin.HUMAN:
            ledger.put("instruction", entry.id, entry.text, entry)
            for sentence in SENTENCE.split(entry.text):
                if CONSTRAINT.search(sentence):
                    ledger.put("constraint", sentence.strip(), sentence.strip(), entry)
        elif entry.kind is EntryKind.CALL:
            called[entry.id] = entry
        elif entry.kind is EntryKind.RESULT and (call := called.get(entry.parent or "")):
            _add_result(ledger, call, entry)
        elif entry.kind is EntryKind.REPLY and (step := NEXT_STEP.findall(entry.text)):
            ledger.put("next step", "", step[-1].strip(), entry)
    return tuple(ledger.facts.values())


def _add_result(ledger: _Ledger, call: Entry, result: Entry) -> None:
    if call.tool in FILE_TOOLS and not result.status:
        path = call.text.split("\n", 1)[0]
        is_new = ledger.value("file", path) == "created" and call.tool == "edit"
        ledger.put("file", path, "created" if is_new else FILE_TOOLS[call.tool], result)
    elif call.tool == "shell":
        status = "passed" if result.status == 0 else f"failed with status {result.status}"
        ledger.put("command", call.text, status, result)
        for test in FAILED_TEST.findall(result.text):
            ledger.put("test", test, "failing", result)
        for test in PASSED_TEST.findall(result.text):
            ledger.put("test", test, "passing", result)
