"""Models that the `llm` library reaches through its plugins: for rewriting prose, and for work that needs no tools.

The library keeps no transcripts that could be gone on with here, so the program that talks to a model is Segue's own
(`chat.py`), and so is what it keeps: a file of entries for each conversation, among Segue's own data.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from segue.agents.shared.transcripts import reader
from segue.errors import SegueError
from segue.model import Agent, Mark, Source

if TYPE_CHECKING:
    from segue.agents.shared.launch import Launch, Start, Written
    from segue.agents.shared.transcripts.reader import Reading
    from segue.base.clock import Moment
    from segue.model.conversation import Conversation
    from segue.model.exit_reason import Output, Stop

AGENT = Agent(
    name="llm", title="llm", vendor="llm", program="", tested="0.36", families=(), context_window=32_768
)

ENDING = ".llm.jsonl"
FIRST = b'{"llm":1,'
"""How a transcript starts."""
FOLDER = "chats"


# Reading


def find(env: Mapping[str, str], projects: Iterable[Path]) -> Iterator[Source]:
    if folder := chats(env):
        yield from reader.sources_like(AGENT.name, folder, [f"*{ENDING}"])


def chats(env: Mapping[str, str]) -> Path | None:
    """Where the transcripts are: among Segue's own data. None where nothing tells where that is."""
    from segue.base import paths  # lazy: so that it costs nothing to name the agent

    if env.get("SEGUE_HOME"):
        return paths.find(env).data / FOLDER
    home = env.get("HOME")
    usual = home and Path(home, "Library/Application Support" if sys.platform == "darwin" else ".local/share")
    shared = env.get("XDG_DATA_HOME") or usual
    return Path(shared, "segue", FOLDER) if shared else None


def recognise(start: bytes) -> bool:
    return start.startswith(FIRST)


def read(source: Source, mark: Mark | None = None) -> Reading:
    from segue.agents.shared.transcripts import entries_file  # lazy: finding does without it

    return entries_file.read(source, mark)


# Handing work to it: only who does so loads how


def program(env: Mapping[str, str]) -> str:
    """It runs wherever Segue runs."""
    return sys.executable


def check_model(model: str, env: Mapping[str, str]) -> None:
    from segue.agents.llm import target  # lazy: as said above

    target.check_model(model)


def vendor_of(model: str, env: Mapping[str, str]) -> str:
    """Who gets what is said to a model. One that nobody named, or that is not known, may be anyone's."""
    from segue.agents.llm import library, vendor  # lazy: as said above

    try:
        return vendor.vendor_of(library.get(model), env) if model else vendor.UNKNOWN
    except SegueError:
        return vendor.UNKNOWN


def spoken(text: str) -> str:
    from segue.agents.llm import target  # lazy: as said above

    return target.spoken(text)


def command(start: Start, env: Mapping[str, str]) -> Launch:
    from segue.agents.llm import target  # lazy: as said above

    return target.command(start, env)


def new_id(seed: str) -> str:
    from segue.agents.llm import target  # lazy: as said above

    return target.new_id(seed)


def write(
    conversation: Conversation, id: str, project: Path, program: str, env: Mapping[str, str]
) -> Written:
    from segue.agents.llm import target  # lazy: as said above

    return target.write(conversation, id, project, env)


def discard(source: Source, program: str, env: Mapping[str, str]) -> None:
    from segue.agents.llm import target  # lazy: as said above

    target.discard(source, env)


def stop_of(output: Output, now: Moment) -> Stop | None:
    """How a headless run stopped; None where what it printed tells of no trouble."""
    from segue.agents.llm import exit_reason  # lazy: as said above

    return exit_reason.stop_of(output, now)


# Asking and rewriting


def ask(model: str, prompt: str, seconds: float | None = None) -> str:
    """What a model answers. Raises TimeoutError where it takes too long, and AgentError where it fails."""
    from segue.agents.llm import rewrite  # lazy: as above

    return rewrite.ask(model, prompt, seconds)


def get(model: str) -> Any:
    """A model of the library, by its name or alias."""
    from segue.agents.llm import library  # lazy: few briefs are rewritten

    return library.get(model)


def rewriter(model: str, key: bytes, seconds: float | None = None) -> Callable[[str], str]:
    """What asks a model to say a text in fewer words. Refuses a model that the library does not know. The function
    raises TimeoutError where the model takes too long, and AgentError where it fails."""
    from segue.agents.llm import rewrite  # lazy: as above

    return rewrite.rewriter(model, key, seconds)
