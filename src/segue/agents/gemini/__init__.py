"""Gemini CLI: a transcript is a file of lines, or one JSON object where an older version wrote it.

The lines are a log of changes: a first line that describes the session, messages, `$set` with new values of
the first line (or, after a compression or a resumption, the whole history anew), and `$rewindTo` with the
message before which the person went back. Which folder it was about stands beside it, not in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from segue.agents.shared.transcripts.reader import Reading, sources_like
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
    name="gemini",
    title="Gemini CLI",
    vendor="google",
    program="gemini",
    tested="0.61.0",
    oldest="0.61",
    families=("gemini",),
    context_window=1_048_576,
)

SIGN_IN = "start `gemini` and enter `/auth`, or set GEMINI_API_KEY"

FOLDER = ".gemini"
LINES = ("tmp/*/chats/*.jsonl", "tmp/*/chats/*/*.jsonl")
DOCUMENTS = ("tmp/*/chats/*.json",)
FORK = re.compile(rb'"type"\s*:\s*"qwen"')
"""What tells an old transcript of Qwen Code, which is of the same form, from ours."""


def find(env: Mapping[str, str], projects: Iterable[Path]) -> Iterator[Source]:
    home = env.get("GEMINI_CLI_HOME") or env.get("HOME")
    if home:
        yield from find_chats(AGENT.name, Path(home) / FOLDER)


def find_chats(agent: str, root: Path) -> Iterator[Source]:
    lines = list(sources_like(agent, root, LINES))
    yield from lines
    copied = {source.path for source in lines}
    for source in sources_like(agent, root, DOCUMENTS):
        if source.path + "l" not in copied:  # a resumed document goes on as lines, and stays behind
            yield source


def recognise(start: bytes) -> bool:
    return is_ours(start) and not FORK.search(start)


def is_ours(start: bytes) -> bool:
    names = (b'"sessionId":', b'"projectHash":')
    return start.lstrip().startswith(b"{") and all(name in start for name in names)


def read(source: Source, mark: Mark | None = None) -> Reading:
    return Reading(source, mark, _entries)


def _entries(reading: Reading) -> Iterator[Entry]:
    from segue.agents.gemini import session  # lazy: finding and recognising need none of it

    return session.entries(reading)


def command(start: Start, env: Mapping[str, str]) -> Launch:
    from segue.agents.gemini import target  # lazy: reading needs none of it

    return target.command(start, env)


def spoken(prompt: str) -> str:
    from segue.agents.gemini import target  # lazy: as above

    return target.spoken(prompt)


def new_id(seed: str) -> str:
    from segue.agents.gemini import target  # lazy: as above

    return target.new_id(seed)


def write(
    conversation: Conversation, id: str, project: Path, program: str, env: Mapping[str, str]
) -> Written:
    from segue.agents.gemini import target  # lazy: as above

    return target.write(conversation, id, project, program, env)


def discard(source: Source, program: str, env: Mapping[str, str]) -> Launch | None:
    from segue.agents.gemini import target  # lazy: as above

    return target.discard(source, program, env)


def tidy(id: str, env: Mapping[str, str]) -> None:
    from segue.agents.gemini import target  # lazy: as above

    target.tidy(id, env)


def belongings(env: Mapping[str, str], project: Path) -> Belongings:
    from segue.agents.gemini import project_config  # lazy: as above

    return project_config.belongings(env, project)


def kept(entry: Entry) -> Kept | None:
    """What an entry says of the conversation before it, for whoever carries that on."""
    from segue.agents.gemini import compaction  # lazy: reading needs none of it

    return compaction.kept(entry)


def stop_of(output: Output, now: Moment) -> Stop | None:
    """How a headless run stopped; None where what it printed tells of no trouble."""
    from segue.agents.gemini import exit_reason  # lazy: reading needs none of it

    return exit_reason.stop_of(output, now)


CLIENTS = ("gemini-cli-mcp-client",)
"""What it calls itself to a tool server."""
ADDED_ARGUMENTS = ("wait_for_previous",)
"""What it adds to the arguments of every tool, and passes on to the server with them (seen with 0.61)."""


def tool_server() -> Piece:
    from segue.agents.gemini import mcp_settings  # lazy: reading needs none of it

    return mcp_settings.PIECE


def hooks() -> Manner:
    """What it tells its hooks, and how it is answered."""
    from segue.agents.gemini import hook_settings  # lazy: reading needs none of it

    return hook_settings.MANNER


def pieces() -> tuple[Piece, ...]:
    """What is set up in it."""
    from segue.agents.gemini import hook_settings  # lazy: as above

    return hook_settings.pieces()
