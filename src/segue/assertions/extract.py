"""Extract the assertions from an agent's replies. If two are about the same thing, the later one counts."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from segue.assertions import denials, file_statements, quoted_output, result_statements, sentences
from segue.assertions.assertion import Assertion, Kind
from segue.model import Entry, EntryKind, Origin

FILES = (Kind.CREATED, Kind.CHANGED, Kind.DELETED)
MOST = 400
"""The most assertions that are kept. The earliest are dropped."""
LONGEST_SENTENCE = 400

Key = tuple[str, str]


def in_entries(entries: Iterable[Entry]) -> tuple[Assertion, ...]:
    """The assertions in an agent's replies. Thoughts and the replies of sub-agents do not count."""
    found = (
        (key, assertion and replace(assertion, entry=entry.id, n=n))
        for n, entry in enumerate(entries, 1)
        if entry.kind is EntryKind.REPLY and entry.origin is Origin.ASSISTANT and not entry.subagent
        for key, assertion in _in(entry.text)
    )
    return _latest(found)[-MOST:]


def in_reply(text: str) -> tuple[Assertion, ...]:
    """The assertions of one reply."""
    return _latest(_in(text))


def _latest(found: Iterable[tuple[Key, Assertion | None]]) -> tuple[Assertion, ...]:
    """The last assertion of each key. None cancels the ones before it."""
    known: dict[Key, Assertion] = {}
    for key, assertion in found:
        known.pop(key, None)
        if assertion is not None:
            known[key] = assertion
    return tuple(known.values())


def _in(text: str) -> Iterable[tuple[Key, Assertion | None]]:
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
                short = replace(assertion, sentence=assertion.sentence[:LONGEST_SENTENCE])
                yield _key(short), short
    if is_limited:
        yield (Kind.TESTS.value, ""), None


def _key(assertion: Assertion) -> Key:
    """Assertions with the same key are about the same thing."""
    if assertion.kind in FILES:
        return "file", assertion.subject
    if assertion.kind in (Kind.ADDED, Kind.SYMBOL):
        return "symbol", f"{assertion.subject} {assertion.place}"
    return assertion.kind.value, assertion.subject
