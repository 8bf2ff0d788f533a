"""Tool calls of any agent, classified as shared actions.

Agents call the same few things by many names. One table (`tool_table`) serves all of them. A tool that is not in it
is classified by the shape of its arguments, so that any server of file tools is understood. What is special to one
agent is in its `tool_calls`, or in another package's `acts`, `answer` and `going` (docs/add-an-agent.md).
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable
from typing import Any

from segue import agents
from segue.agents.shared.tool_calls.tool_arguments import LONGEST_NAME, decoded, named, plain
from segue.agents.shared.tool_calls.tool_table import TOOLS, by_shape, command_of
from segue.errors import AgentError, NotFound
from segue.model import Entry, EntryKind
from segue.model.tool_action import Act, Answer, Deed, Going, Verdict

OTHER = (Act(deed=Deed.OTHER),)


def acts_of(entry: Entry, agent: str = "", *, result: Entry | None = None) -> tuple[Act, ...]:
    """What an entry does, or would have done; with its result, completed by what the result says."""
    own = _own(agent, "acts")
    found: tuple[Act, ...] | None = own(entry, result) if own else None
    if found is not None:
        return found
    return acts_of_call(entry.tool or "", entry.text) if entry.kind is EntryKind.CALL else ()


def answer_of(call: Entry, result: Entry, agent: str = "") -> Answer | None:
    """The user's answer to a call that waited for one; None if it did not wait, or they said nothing. Some
    readers also give the answer as a prompt next to the result."""
    own = _own(agent, "answer")
    found: Answer | None = own(call, result) if own else None
    return found


def is_done(entry: Entry, result: Entry | None, agent: str = "") -> bool:
    """Whether the actions of an entry happened, as far as known. A call without a result is not done, nor is
    what a reply only proposes. A background command (`find_background_job`) is done once it was started."""
    if entry.kind is not EntryKind.CALL:
        return entry.kind is not EntryKind.REPLY and not entry.is_error
    if result is None or result.is_error or result.status:
        return False
    answer = answer_of(entry, result, agent)
    return answer is None or answer.verdict not in (Verdict.REJECTED, Verdict.REFUSED)


def going_of(call: Entry, result: Entry, agent: str = "") -> Going | None:
    """A background command that the call started or checked again; None for other calls. The result of the
    call that finds it ended says how. For agents that note the end by themselves, pass the note as both."""
    own = _own(agent, "going")
    found: Going | None = own(call, result) if own else None
    return found


@functools.cache
def _own(agent: str, what: str) -> Callable[..., Any] | None:
    """The agent's own function, or None."""
    with contextlib.suppress(NotFound, AgentError):
        found = getattr(agents.load(agent), what)
        return found if callable(found) else None
    return None


# Also for the agents' own files


def acts_of_call(tool: str, text: str) -> tuple[Act, ...]:
    """What a call does, by its tool's name and arguments."""
    given = decoded(text)
    arguments = named(given)
    raw = "" if isinstance(given, dict) else given if isinstance(given, str) else command_of(given)
    name, is_foreign = _name_of(tool[:LONGEST_NAME])
    handler = None if is_foreign else TOOLS.get(name)
    found = handler(arguments, raw) if handler else ()
    return found or by_shape(name, arguments, raw) or OTHER


@functools.lru_cache(4096)
def _name_of(tool: str) -> tuple[str, bool]:
    """A tool's normalized name, and whether it comes from a server."""
    own = tool.removeprefix("functions.")
    last = re.split(r"__|[./:]", own)[-1]
    return plain(last), last != own


MOST_QUESTIONS = 50
LONGEST_ANSWER = 200_000


def answers_in(text: str, call: Entry) -> list[str]:
    """The answers in a result that repeats each question: "What?"="This", "How?"="So"."""
    acts = acts_of_call(call.tool or "", call.text)
    return between(text, [f'"{act.subject}"="' for act in acts if act.deed is Deed.ASK], '"')


def between(text: str, marks: list[str], end: str = "") -> list[str]:
    """The text after each mark, up to the next mark, and there up to the last `end`."""
    text = text[:LONGEST_ANSWER]
    places = sorted((at, mark) for mark in marks[:MOST_QUESTIONS] if (at := text.find(mark)) >= 0)
    stops = [at for at, _ in places[1:]] + [len(text)]
    found = (text[at + len(mark) : stop] for (at, mark), stop in zip(places, stops, strict=False))
    said = (part.rpartition(end)[0] if end else part for part in found)
    return [answer for part in said if (answer := part.strip())]
