"""What an agent may offer, typed. `agents.load(name)` gives each of these, or None for one that the agent lacks.

docs/add-an-agent.md describes them. What every reader, starter and writer must have is in `Reader`, `Starter` and
`Writer`. This file is imported for types only, so that it adds nothing to start-up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from segue.agents.shared.launch import Launch
from segue.agents.shared.settings.hook_settings import Manner
from segue.agents.shared.settings.project_config import Belongings
from segue.agents.shared.settings.settings_patch import Piece
from segue.agents.shared.transcripts.file_scan import Found
from segue.agents.shared.transcripts.index_scan import Scan
from segue.agents.shared.transcripts.reader import Spends
from segue.base.clock import Moment
from segue.conversation import Kept
from segue.model import Agent, Entry, Limit, Mark, Source, Transcript
from segue.model.exit_reason import Output, Stop
from segue.model.tool_action import Act, Answer, Going
from segue.usage.ledger import Row

Env = Mapping[str, str]


class Reads(Protocol):
    """Shortcuts past a full read, and what a transcript holds besides its entries."""

    files: Callable[[Env], Iterator[Found]] | None
    rows: Callable[[Found, int, str], tuple[list[Row], int, str, bool]] | None
    spends: Callable[[Source, Mark | None], Spends] | None
    scan: Callable[[Source, Mark | None, Transcript | None], Scan] | None
    side_file: Callable[[Entry, Source], Path | None] | None
    kept: Callable[[Entry], Kept | None] | None
    acts: Callable[[Entry, Entry | None], tuple[Act, ...] | None] | None
    answer: Callable[[Entry, Entry], Answer | None] | None
    going: Callable[[Entry, Entry], Going | None] | None


class Starts(Protocol):
    """How the program is found, checked, started and cleaned up after."""

    program: Callable[[Env], str | None] | None
    keeps_transcripts_as: Callable[[Env], str] | None
    check_model: Callable[[str, Env], None] | None
    vendor_of: Callable[[str, Env], str] | None
    spoken: Callable[[str], str] | None
    new_id: Callable[[str], str] | None
    discard: Callable[[Source, str, Env], Launch | None] | None
    tidy: Callable[[str, Env], None] | None
    CARRIERS: tuple[str, ...] | None
    SIGN_IN: str | None
    PERMITTING: str | None


class ReportsExit(Protocol):
    """Limits in a status line, and what a headless run printed about its end."""

    limits_of_status: Callable[[dict[str, Any], Moment | None], tuple[Limit, ...]] | None
    window_of_status: Callable[[dict[str, Any]], tuple[str, int]] | None
    stop_of: Callable[[Output, Moment], Stop | None] | None
    reports_of: Callable[[str, Moment], tuple[Limit, ...]] | None
    denied_in: Callable[[str], tuple[str, ...]] | None


class HasSettings(Protocol):
    """Project configuration, and the settings that hold hooks and MCP servers."""

    belongings: Callable[[Env, Path], Belongings] | None
    hooks: Callable[[], Manner] | None
    pieces: Callable[[], tuple[Piece, ...]] | None
    tool_server: Callable[[], Piece] | None
    CLIENTS: tuple[str, ...] | None
    caller_transcript: Callable[[Env, Mapping[str, Any]], str] | None
    ADDED_ARGUMENTS: tuple[str, ...] | None


class Capabilities(Reads, Starts, ReportsExit, HasSettings, Protocol):
    AGENT: Agent
