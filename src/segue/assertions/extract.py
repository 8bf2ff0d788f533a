"""The assertions in what an agent said since the work was handed to it. Of what is said twice, the later holds."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from segue.assertions import denials, file_statements, quoted_output, result_statements, sentences
from segue.assertions.assertion import Assertion, Kind
from segue.model import Entry, EntryKind, Origin

FILES = (Kind.CREATED, Kind.CHANGED, Kind.DELETED)
MOST = 400
"""No work is described in more: what was said first is left out."""
LONGEST_SENTENCE = 400


def in_entries(entries: Iterable[Entry]) -> tuple[Assertion, ...]:
    """What an agent's replies assert; its thoughts, and what sub-agents say, are no assertions of its own."""
    known: dict[tuple[str, str], Assertion] = {}
    for n, entry in enumerate(entries, 1):
        if entry.kind is EntryKind.REPLY and entry.origin is Origin.ASSISTANT and not entry.subagent:
            for key, assertion in _in(entry.text):
                known.pop(key, None)
                if assertion is not None:
                    known[key] = msgspec.structs.replace(assertion, entry=entry.id, n=n)
    return tuple(known.values())[-MOST:]


def in_reply(text: str) -> tuple[Assertion, ...]:
    """The assertions of one reply."""
    known: dict[tuple[str, str], Assertion] = {}
    for key, assertion in _in(text):
        known.pop(key, None)
        if assertion is not None:
            known[key] = assertion
    return tuple(known.values())


def _in(text: str) -> Iterable[tuple[tuple[str, str], Assertion | None]]:
    is_limited = False
    for sentence in sentences.sentences(text):
        is_limited = is_limited or result_statements.still_fails(sentence)
        for assertion in (
            *file_statements.in_sentence(sentence),
            *denials.in_sentence(sentence),
            *result_statements.in_sentence(sentence),
            *quoted_output.in_sentence(sentence),
        ):
            if assertion is None:
                yield (Kind.TESTS.value, ""), None
            else:
                short = msgspec.structs.replace(assertion, sentence=assertion.sentence[:LONGEST_SENTENCE])
                yield _key(short), short
    if is_limited:
        yield (Kind.TESTS.value, ""), None


def _key(assertion: Assertion) -> tuple[str, str]:
    """What two assertions must share to be about the same thing."""
    if assertion.kind in FILES:
        return "file", assertion.subject
    if assertion.kind in (Kind.ADDED, Kind.SYMBOL):
        return "symbol", f"{assertion.subject} {assertion.place}"
    return assertion.kind.value, assertion.subject
