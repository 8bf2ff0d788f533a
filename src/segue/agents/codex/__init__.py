"""Codex keeps a session as a file of lines, a rollout; a rollout tells most things twice.

What the model sees is there as response items, what the person saw as events, and what one answer used as
running totals. Once a file has shown that it holds events, only they count as prompts and replies, and what
repeats them becomes a note. In code mode the model writes JavaScript; the commands and changes that came of
it are read from the items that say that they were done.

A fork of an old version, and a sub-agent of any, begins with the history of the session that it came from,
under new times: such records are notes, and what they tell of tokens bears the same key as in the first
session. A limit that was hit is told outright since 0.166; before, a turn without an answer beside a full
window, or a full window with nothing used, is all that tells of it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from segue.agents.shared.transcripts.file_scan import COMPRESSED
from segue.agents.shared.transcripts.reader import Reading, source_of
from segue.agents.shared.transcripts.reader import records as json_records
from segue.model import Agent, Entry, Mark, Source

if TYPE_CHECKING:
    from segue.agents.shared.launch import Launch, Start, Written
    from segue.agents.shared.settings.hook_settings import Manner
    from segue.agents.shared.settings.project_config import Belongings
    from segue.agents.shared.settings.settings_patch import Piece
    from segue.base.clock import Moment
    from segue.conversation import Kept
    from segue.model.conversation import Conversation
    from segue.model.exit_reason import Output, Stop

AGENT = Agent(
    name="codex",
    title="Codex",
    vendor="openai",
    program="codex",
    tested="0.169.0",
    oldest="0.50",
    families=("gpt", "codex", "o3", "o4"),
)
SIGN_IN = "run `codex login`"

FOLDERS = ("sessions", "archived_sessions")

_START = re.compile(
    rb'\s*\{[^{]{0,200}?"type"\s*:\s*"(?:session_meta|response_item|event_msg|turn_context|compacted)"\s*,'
    rb'\s*"payload"\s*:\s*\{'
)
_OLD_START = re.compile(
    rb'\s*\{"id"\s*:\s*"[0-9a-f-]{36}"\s*,\s*"timestamp"\s*:\s*"[^"]*"\s*,\s*"instructions"'
)


def find(env: Mapping[str, str], projects: Iterable[Path]) -> Iterator[Source]:
    home = env.get("HOME", "")
    root = env.get("CODEX_HOME") or (home and f"{home}/.codex")
    if not root or "\0" in root:
        return
    for folder in FOLDERS:
        for path, folders, names in os.walk(Path(root, folder)):
            folders.sort()
            plain = set(names)
            for name in sorted(names):
                is_rollout = name.startswith("rollout-") and name.endswith((".jsonl", ".jsonl" + COMPRESSED))
                is_copy = name.endswith(COMPRESSED) and name.removesuffix(COMPRESSED) in plain
                if is_rollout and not is_copy and (source := source_of(AGENT.name, f"{path}/{name}")):
                    yield source


def recognise(start: bytes) -> bool:
    return bool(_START.match(start) or _OLD_START.match(start))


def read(source: Source, mark: Mark | None = None) -> Reading:
    return Reading(source, mark, _entries)


def _entries(reading: Reading) -> Iterator[Entry]:
    from segue.agents.codex.rollout import Rollout  # lazy: finding and recognising need none of it

    rollout: Rollout | None = None
    for record in json_records(reading):
        # Only now is it known whether the mark holds: a file that was replaced starts with an empty state.
        rollout = rollout or Rollout(reading)
        yield from rollout.entries(record)


def command(start: Start, env: Mapping[str, str]) -> Launch:
    from segue.agents.codex import target  # lazy: reading needs none of it

    return target.command(start, env)


def new_id(seed: str) -> str:
    from segue.agents.codex import target  # lazy: as above

    return target.new_id(seed)


def write(
    conversation: Conversation, id: str, project: Path, program: str, env: Mapping[str, str]
) -> Written:
    from segue.agents.codex import target  # lazy: as above

    return target.write(conversation, id, project, program, env)


def discard(source: Source, program: str, env: Mapping[str, str]) -> Launch | None:
    from segue.agents.codex import target  # lazy: as above

    return target.discard(source, program, env)


def belongings(env: Mapping[str, str], project: Path) -> Belongings:
    from segue.agents.codex import project_config  # lazy: as above

    return project_config.belongings(env, project)


def kept(entry: Entry) -> Kept | None:
    """What an entry says of the conversation before it, for whoever carries that on."""
    from segue.agents.codex import compaction  # lazy: reading needs none of it

    return compaction.kept(entry)


def stop_of(output: Output, now: Moment) -> Stop | None:
    """How a headless run stopped; None where what it printed tells of no trouble."""
    from segue.agents.codex import exit_reason  # lazy: reading needs none of it

    return exit_reason.stop_of(output, now)


CLIENTS = ("codex-mcp-client",)
"""What it calls itself to a tool server."""


def tool_server() -> Piece:
    from segue.agents.codex import mcp_settings  # lazy: reading needs none of it

    return mcp_settings.PIECE


def caller_transcript(env: Mapping[str, str], meta: Mapping[str, Any]) -> str:
    """The conversation that a tool call comes from, by the server's environment and what the call carries."""
    from segue.agents.codex import mcp_settings  # lazy: as above

    return mcp_settings.caller_transcript(env, meta)


def hooks() -> Manner:
    """What it tells its hooks, and how it is answered."""
    from segue.agents.codex import hook_settings  # lazy: reading needs none of it

    return hook_settings.MANNER


def pieces() -> tuple[Piece, ...]:
    """What is set up in it."""
    from segue.agents.codex import hook_settings  # lazy: as above

    return hook_settings.pieces()
