"""Checks of a transcript's entries, and that none of its records was dropped."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from segue.agents.shared.transcripts.reader import LONGEST_LINE, decode
from segue.model import Entry, EntryKind, Origin, Spend
from segue.testing.sample import Pass, ensure

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
ORIGINS = {
    EntryKind.PROMPT: {Origin.HUMAN, Origin.ASSISTANT, Origin.SYSTEM},
    EntryKind.REPLY: {Origin.ASSISTANT},
    EntryKind.THOUGHT: {Origin.ASSISTANT},
    EntryKind.CALL: {Origin.ASSISTANT, Origin.HUMAN},  # users can run commands in the agent
    EntryKind.RESULT: {Origin.TOOL},
}


def check_entries(entries: Iterable[Entry]) -> None:
    """Check entries, whatever they were made from."""
    parents: dict[str, str | None] = {}
    for entry in entries:
        ensure(bool(entry.id), f"an entry has no id: {entry!r:.200}")
        ensure(entry.id not in parents, f"two entries have the id {entry.id!r}")
        parents[entry.id] = entry.parent
        _check_fields(entry)
        ensure(
            entry.origin in ORIGINS.get(entry.kind, set(Origin)),
            f"{entry.id!r}: a {entry.kind} cannot be of origin {entry.origin}",
        )
    check_walks(parents)


def check_walks(parents: Mapping[str, str | None]) -> None:
    """Check that the chain of parents always ends. A parent may come after its child: agents with parallel
    calls write it so."""
    ended: set[str] = set()
    for start in parents:
        walked: dict[str, None] = {}
        here: str | None = start
        while here is not None and here in parents and here not in ended:
            ensure(here not in walked, f"{here!r} is its own ancestor: its parent is {parents[here]!r}")
            walked[here] = None
            here = parents[here]
        ended.update(walked)


def _check_fields(entry: Entry) -> None:
    words = (entry.id, entry.text, entry.parent, entry.model, entry.tool, entry.call, entry.cwd, entry.branch)
    for word in (*words, entry.subagent):
        ensure(
            word is None or isinstance(word, str),
            f"{entry.id!r}: {word!r:.80} stands where there should be text",
        )
        ensure(word is None or is_writable(word), f"{entry.id!r}: {word!r:.80} cannot be written as UTF-8")
    status = entry.status
    ensure(
        status is None or (isinstance(status, int) and not isinstance(status, bool)),
        f"{entry.id!r}: the exit status is {status!r:.80}",
    )
    ensure(isinstance(entry.native, dict), f"{entry.id!r} does not keep its record in `native`")
    moments = [entry.at, *(limit.at for limit in entry.limits), *(limit.resets_at for limit in entry.limits)]
    for at in moments:
        ensure(at is None or bool(MOMENT.fullmatch(at)), f"{entry.id!r}: {at!r} is no moment")
    for limit in entry.limits:
        used = limit.used_percent
        ensure(used is None or 0 <= used < float("inf"), f"{entry.id!r}: {used} % of a limit")
    if entry.kind is EntryKind.LIMIT:
        ensure(bool(entry.limits), f"{entry.id!r} is a limit and does not say which: fill `limits`")
    if entry.spend:
        _check_spend(entry.id, entry.spend)


def _check_spend(id: str, spend: Spend) -> None:
    tokens = spend.tokens
    counts = (tokens.input, tokens.output, tokens.cache_read, tokens.cache_write, tokens.cache_write_long)
    ensure(bool(spend.key), f"{id!r}: a spend without a key")
    ensure(is_writable(spend.key + spend.model), f"{id!r}: a spend's key cannot be written as UTF-8")
    ensure(
        all(isinstance(count, int) and count >= 0 for count in counts), f"{id!r}: impossible tokens {tokens}"
    )
    ensure(tokens.cache_write_long <= tokens.cache_write, f"{id!r}: more kept long than written: {tokens}")
    ensure(spend.at is None or bool(MOMENT.fullmatch(spend.at)), f"{id!r}: {spend.at!r} is no moment")
    cost = spend.cost_usd
    ensure(cost is None or 0 <= cost < float("inf"), f"{id!r}: a cost of {cost} dollars")


def is_writable(word: object) -> bool:
    if not isinstance(word, str):
        return False
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_links(entries: Iterable[Entry]) -> None:
    """Check that the parent of each result is its call. Only for what an agent wrote, not for damaged files."""
    calls: dict[str, list[Entry]] = {}
    by_id: dict[str, Entry] = {}
    for entry in entries:
        if entry.kind is EntryKind.CALL:
            ensure(bool(entry.tool), f"the call {entry.id!r} does not name its tool")
            calls.setdefault(entry.call or "", []).append(entry)
        if entry.kind is EntryKind.RESULT and entry.call in calls:
            _check_result(entry, calls[entry.call], by_id)
        by_id[entry.id] = entry


def _check_result(result: Entry, calls: list[Entry], by_id: Mapping[str, Entry]) -> None:
    above = by_id.get(result.parent or "")
    # Several results in one record are linked to each other, so that a walk from a child meets them all.
    is_beside = above is not None and above.native == result.native
    ensure(
        is_beside or any(call.id == result.parent for call in calls),
        f"the result {result.id!r} does not hang on its call: its parent is {result.parent!r}",
    )
    ensure(
        result.tool is None or any(call.tool == result.tool for call in calls),
        f"the result {result.id!r} is of {result.tool!r}, its call of {calls[-1].tool!r}",
    )


def check_records(whole: Pass, content: bytes) -> None:
    """Check that every record of a file of JSON lines gave an entry that keeps it."""
    reading, found = whole.reading, records_in(whole, content)
    if not found.sound or not reading.lines:
        return
    ensure(reading.lines == found.lines, f"{found.lines} lines were counted as {reading.lines}")
    broken = found.lines - len(found.sound)
    ensure(
        broken - found.deep <= reading.broken <= broken,
        f"{reading.broken} lines were counted as broken: it should be {broken - found.deep}",
    )
    lost = lost_records(whole, found.sound)
    example = next(iter(lost), "")
    ensure(not lost, f"{lost.total()} of {len(found.sound)} records gave no entry, such as {example:.300}")


def is_json_lines(content: bytes) -> bool:
    """Whether a file has one record per line, by its first line."""
    start = content.lstrip()
    return decode(start[: start.find(b"\n") + 1 or None]) is not None


class Lines(NamedTuple):
    """The lines of a pass."""

    lines: int
    sound: list[dict[str, Any]]
    """The JSON objects; none in other formats."""
    deep: int
    """Lines that are nested so deeply that a reader may or may not read them."""


def records_in(whole: Pass, content: bytes) -> Lines:
    lines = [line.strip() for line in content[: whole.reading.mark.offset].split(b"\n")]
    lines = [line for line in lines if line]
    shallow = [line for line in lines if not is_deep(line)]
    records = [decode(line) if len(line) <= LONGEST_LINE else None for line in shallow]
    return Lines(len(lines), [record for record in records if record is not None], len(lines) - len(shallow))


def is_deep(line: bytes) -> bool:
    """Whether a line is nested as `mutations` nests it, and as no agent does."""
    return b"[" * 99 in line or b'{"a":' * 99 in line


def lost_records(whole: Pass, sound: Iterable[dict[str, Any]]) -> Counter[str]:
    """The records that no entry keeps. Of identical records, one is enough."""
    natives = {id(entry.native): entry.native for entry in whole.entries}
    held = set(map(_print_of, natives.values()))
    return Counter(found for found in map(repr, sound) if found not in held)


def _print_of(record: Any) -> str:
    try:
        return repr(record)
    except RecursionError:
        return "nested too deeply"
