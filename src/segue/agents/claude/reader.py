"""Find, recognise and read Claude Code's transcripts.

`records` and `messages` turn records into entries, `user_text` splits the text of user records, `limits` reads limits,
and `queued_prompts` reads what the user typed while the agent was busy.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from segue.agents.claude.locate import files, folders
from segue.agents.shared.transcripts.reader import Reading, count_of, decode, dict_of, source_from, text_of
from segue.agents.shared.transcripts.reader import records as json_records
from segue.model import Agent, Entry, EntryKind, Mark, Source

if TYPE_CHECKING:
    from pathlib import Path


AGENT = Agent(
    name="claude",
    title="Claude Code",
    vendor="anthropic",
    program="claude",
    tested="2.1.325",
    oldest="1.0",
    families=("claude", "opus", "sonnet", "haiku"),
    context_window=200_000,
)


def find(env: Mapping[str, str], projects: Iterable[Path]) -> Iterator[Source]:
    return map(source_from, files(env))


def roots(env: Mapping[str, str]) -> list[Path]:
    """The configuration folders: those in CLAUDE_CONFIG_DIR, or both default ones."""
    from pathlib import Path  # lazy: rarely needed

    return [Path(root) for root in folders(env)]


# Recognising a transcript

_LOOKED_AT = 20
_OWN_TYPES = frozenset(
    ("summary", "file-history-snapshot", "queue-operation", "permission-mode", "last-prompt", "custom-title",
     "agent-name", "mode")
)  # fmt: skip


def recognise(start: bytes) -> bool:
    lines = start.split(b"\n")
    for line in lines[:_LOOKED_AT]:
        record = decode(line.strip()) if line.strip() else None
        if record is not None and (verdict := _is_own(record)) is not None:
            return verdict
        if record is None and line.lstrip().startswith(b"{"):  # truncated or damaged
            return _looks_own(line)
    return False


def _is_own(record: dict[str, Any]) -> bool | None:
    """Whether a record is one of Claude Code's; None if any agent could have written it."""
    kind = text_of(record.get("type"))
    if "parentUuid" in record and "uuid" in record:
        return "isSidechain" in record and "parts" not in dict_of(record.get("message"))
    if kind == "summary":
        return "leafUuid" in record
    if kind == "file-history-snapshot":
        return "snapshot" in record
    if kind in ("started", "result") and "agentId" in record:
        return "key" in record
    if "session_id" in record:
        return kind in ("system", "assistant", "user", "rate_limit_event", "result") and _is_streamed(record)
    return kind in _OWN_TYPES and "sessionId" in record


def _is_streamed(record: dict[str, Any]) -> bool | None:
    """Whether it is a line of Claude Code's output. Other programs write similar lines."""
    return "permissionMode" in record or "claude_code_version" in record or "rate_limit_info" in record


_CUT_CHAIN = (b'"parentUuid"', b'"isSidechain"')
# Compiled on use: totals don't need them.
_CUT_OWN = rb'\s*\{\s*"type"\s*:\s*"(?:queue-operation|file-history-snapshot|last-prompt)"'
_CUT_INIT = rb'(?s)\s*\{\s*"type"\s*:\s*"system"\s*,\s*"subtype"\s*:\s*"init".*"session_id"'


def _looks_own(line: bytes) -> bool:
    if all(key in line for key in _CUT_CHAIN):
        return not re.search(rb'"message"\s*:\s*\{\s*"role"\s*:\s*"\w+"\s*,\s*"parts"', line)
    return bool(re.match(_CUT_OWN, line) or (re.match(_CUT_INIT, line) and b"qwen" not in line))


# Reading


def read(source: Source, mark: Mark | None = None) -> Reading:
    return Reading(source, mark, _entries)


def _entries(reading: Reading) -> Iterator[Entry]:
    from segue.agents.claude.records import entries_of  # lazy: totals don't need it

    for record in json_records(reading):
        yield from entries_of(record, reading, reading.mark.state)


def window_of_status(status: dict[str, Any]) -> tuple[str, int]:
    """The conversation in the status line's input, and the size of its context window; 0 if unknown."""
    size = count_of(dict_of(status.get("context_window")).get("context_window_size"))
    return text_of(status.get("session_id")), size


# Results in separate files

_SAVED = r"saved to:? +(\S[^\n]*)"
_SIDE_FOLDER = "tool-results"


def side_file(entry: Entry, source: Source) -> Path | None:
    """The file with the complete result, if the transcript has only its start. Only a file in the transcript's own
    folder counts, whatever path the result names."""
    from pathlib import Path  # lazy: rarely needed

    if entry.kind is not EntryKind.RESULT:
        return None
    outcome = dict_of(dict_of(entry.native).get("toolUseResult"))
    named = [text_of(outcome.get("persistedOutputPath")).replace("\0", "")]
    if found := re.search(_SAVED, entry.text[:2000]):
        named.append(found[1].strip().replace("\0", ""))
    folder = Path(os.path.realpath(_own_folder(source) / _SIDE_FOLDER))
    for path in filter(None, named):
        found_file = Path(os.path.realpath(folder / path.replace("\\", "/").rpartition("/")[2]))
        if found_file.parent == folder and found_file.is_file():
            return found_file
    return None


def _own_folder(source: Source) -> Path:
    from pathlib import Path  # lazy: rarely needed

    path = Path(source.path)
    parts = path.parts
    if "subagents" in parts:
        last = len(parts) - 1 - parts[::-1].index("subagents")
        return Path(*parts[:last])
    return path.with_suffix("")
