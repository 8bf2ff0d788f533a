"""OpenCode. It keeps all sessions in one SQLite database; before version 1.2 each message and each part of one
was a JSON file of its own; and `opencode export` writes a session as one document. All three hold the same
records, so one reader serves them: `store` gets the records, `parts` makes entries of them.

Nothing here is appended to, so a mark stays at the start and remembers every entry that was given. A read with
it gives what is new or says something else now; if something is gone (the person went back and deleted
messages), the read begins anew. What is still empty in the last message is left for the next read.

A fork copies the messages of its origin under new ids, and tells nothing but a title of where it came from.
So an answer is known by when its conversation began, with which words, and by when the answer began.

What cannot be told apart: a command's template, once filled in, looks like a typed prompt; and all prompts of
a sub-agent's session are taken for the main agent's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from segue.agents.shared.transcripts.reader import Reading
from segue.errors import AgentError
from segue.model import Agent, Entry, Mark, Source

if TYPE_CHECKING:
    from segue.agents.shared.launch import Launch, Start, Written
    from segue.agents.shared.settings.project_config import Belongings
    from segue.agents.shared.settings.settings_patch import Piece
    from segue.base.clock import Moment
    from segue.model.conversation import Conversation
    from segue.model.exit_reason import Output, Stop

AGENT = Agent(
    name="opencode", title="OpenCode", vendor="opencode", program="opencode", tested="1.18.33", oldest="1.18"
)
SIGN_IN = "run `opencode auth login`"

EXPORT = re.compile(rb'\s*\{\s*"info"\s*:\s*\{[^{}]{0,400}"id"\s*:\s*"ses_')
SESSION = re.compile(rb'\s*\{\s*"id"\s*:\s*"ses_')


def find(env: Mapping[str, str], projects: Iterable[Path]) -> Iterator[Source]:
    folder = data_folder(env)
    if folder is None:
        return
    from segue.agents.opencode import storage  # lazy: it brings SQLite

    found = set()
    unread: AgentError | None = None
    try:
        for source in storage.in_databases(AGENT.name, folder, env.get("OPENCODE_DB", "")):
            found.add(source.part)
            yield source
    except AgentError as error:
        unread = error
    yield from storage.in_files(AGENT.name, folder, without=found)
    if unread:
        raise unread


def data_folder(env: Mapping[str, str]) -> Path | None:
    """Where it keeps what it keeps."""
    if env.get("XDG_DATA_HOME"):
        return Path(env["XDG_DATA_HOME"], "opencode")
    return Path(env["HOME"], ".local", "share", "opencode") if env.get("HOME") else None


def recognise(start: bytes) -> bool:
    """An exported session, or a session's own file of the time before the database. The database is not told
    by its start: that may be an empty page while all is still in the log beside it."""
    return bool(EXPORT.match(start)) or (bool(SESSION.match(start)) and b'"projectID"' in start)


def read(source: Source, mark: Mark | None = None) -> Reading:
    return Reading(source, mark, _entries)


def _entries(reading: Reading) -> Iterator[Entry]:
    from segue.agents.opencode import session  # lazy: finding and recognising need none of it

    return session.entries(reading)


def command(start: Start, env: Mapping[str, str]) -> Launch:
    from segue.agents.opencode import target  # lazy: reading needs none of it

    return target.command(start, env)


def new_id(seed: str) -> str:
    from segue.agents.opencode import target  # lazy: as above

    return target.new_id(seed)


def write(
    conversation: Conversation, id: str, project: Path, program: str, env: Mapping[str, str]
) -> Written:
    from segue.agents.opencode import target  # lazy: as above

    return target.write(conversation, id, project, program, env)


def discard(source: Source, program: str, env: Mapping[str, str]) -> Launch | None:
    from segue.agents.opencode import target  # lazy: as above

    return target.discard(source, program, env)


def belongings(env: Mapping[str, str], project: Path) -> Belongings:
    from segue.agents.opencode import project_config  # lazy: as above

    return project_config.belongings(env, project)


def stop_of(output: Output, now: Moment) -> Stop | None:
    """How a headless run stopped; None where what it printed tells of no trouble."""
    from segue.agents.opencode import exit_reason  # lazy: reading needs none of it

    return exit_reason.stop_of(output, now)


CLIENTS = ("opencode",)
"""What it calls itself to a tool server."""


def tool_server() -> Piece:
    from segue.agents.opencode import mcp_settings  # lazy: reading needs none of it

    return mcp_settings.PIECE
