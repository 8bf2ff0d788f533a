"""Check what reached the target, from its own transcript. A started process proves nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from segue import agents
from segue.agents.shared.transcripts import index_scan
from segue.briefs import prompt
from segue.errors import AgentError
from segue.facts import received_brief
from segue.model import Ending, Entry, EntryKind, Origin, Source
from segue.model.conversation import Conversation

MOST_OF = 0.9


class Sought(Struct, frozen=True):
    """Search for a delivered prompt in an agent's transcripts."""

    agent: str
    """Agent that keeps the transcript."""
    handoff: str
    """Handoff id in the prompt's marker. If empty, the prompt's text must match."""
    project: Path
    since: int
    """Time in nanoseconds; transcripts last changed before it are skipped."""
    text: str
    """Prompt that was sent."""
    is_in_file: bool = False
    """Whether the prompt only names the file to read."""
    path: str = ""
    """Expected transcript file, if known."""
    part: str = ""
    besides: tuple[str, ...] = ()
    """Names of transcripts to exclude."""


class Arrival(Struct, frozen=True):
    """Handoff as found in the target's transcript."""

    source: Source | None = None
    id: str = ""
    """Transcript id."""
    has_handoff: bool = False
    """Whether the transcript contains the prompt."""
    is_whole: bool = False
    """Whether it contains the prompt word for word."""
    is_first: bool = False
    """Whether it is the first prompt of the transcript."""
    is_in_file: bool = False
    """Whether the prompt only names a file. Nothing proves that the file was read."""
    carried: int = 0
    """Number of carried turns with text before the prompt."""
    due: int = 0
    """Number of turns with text that were carried."""
    ending: Ending = Ending.OPEN
    reply: str = ""
    """Last reply after the prompt."""

    @property
    def is_there(self) -> bool:
        """Whether the target has the whole handoff. Agents may rewrite a few turns."""
        return self.has_handoff and self.is_whole and self.carried >= MOST_OF * self.due


def look(sought: Sought, env: Mapping[str, str], conversation: Conversation | None = None) -> Arrival:
    """Find the prompt in the transcripts that changed since the target started."""
    for source in _candidates(sought, env):
        try:
            found = _read(source, sought, conversation or Conversation())
        except AgentError:
            continue
        if found.has_handoff:
            return found
    return Arrival()


def state_of_files(sought: Sought, env: Mapping[str, str]) -> tuple[tuple[str, str, int, int], ...]:
    """File sizes and times; they change when the target writes to a transcript."""
    return tuple((one.path, one.part, one.size, one.stamp) for one in _candidates(sought, env))


def _candidates(sought: Sought, env: Mapping[str, str]) -> list[Source]:
    found = [
        source
        for source in agents.reader(sought.agent).find(env, [sought.project])
        if (source.stamp >= sought.since and name_of(source) not in sought.besides)
        or _is_named(source, sought)
    ]
    return sorted(found, key=lambda source: (not _is_named(source, sought), -source.stamp))


def name_of(source: Source) -> str:
    """Unique name of a transcript on this machine."""
    return f"{source.path}#{source.part}" if source.part else source.path


def there_since(agent: str, project: Path, since: int, env: Mapping[str, str]) -> tuple[str, ...]:
    """Names of an agent's transcripts for a folder that changed since a time in nanoseconds."""
    found = agents.reader(agent).find(env, [project])
    return tuple(sorted(name_of(source) for source in found if source.stamp >= since))


def _is_named(source: Source, sought: Sought) -> bool:
    return bool(sought.path) and source.path == sought.path and source.part == sought.part


def _read(source: Source, sought: Sought, conversation: Conversation) -> Arrival:
    reading = agents.reader(source.agent).read(source)
    before: set[str] = set()
    held, reply, ending = "", "", Ending.OPEN
    is_first = True
    for entry in reading:
        if entry.kind is EntryKind.PROMPT and _is_it(entry.text, sought):
            held, reply, ending = entry.text, "", Ending.OPEN
        elif not held:
            is_first = is_first and entry.kind is not EntryKind.PROMPT
            before.add(_plain(entry.text))
        else:
            ending = index_scan.ending_after(ending, entry)
            if entry.kind is EntryKind.REPLY and entry.origin is Origin.ASSISTANT and entry.text.strip():
                reply = entry.text
    texts = [text for turn in conversation.turns if (text := _plain(turn.text))]
    return Arrival(
        source=source,
        id=str(reading.learned.get("id") or index_scan.fresh(source).id),
        has_handoff=bool(held),
        is_whole=_plain(held) == _plain(sought.text),
        is_first=is_first,
        is_in_file=sought.is_in_file,
        carried=sum(text in before for text in texts),
        due=len(texts),
        ending=ending,
        reply=reply,
    )


def _is_it(text: str, sought: Sought) -> bool:
    if sought.handoff:
        return text.lstrip().startswith(prompt.marker(sought.handoff))
    return _plain(text) == _plain(sought.text)


def _plain(text: str) -> str:
    return " ".join(text.split())


def since(source: Source, handoff: str) -> Iterator[Entry]:
    """Entries between a handoff's prompt and the next handoff's prompt; from the start of the transcript if the
    handoff is not in it."""
    entries = list(agents.reader(source.agent).read(source))
    marks = [
        (number, id)
        for number, entry in enumerate(entries)
        if entry.kind is EntryKind.PROMPT and (id := received_brief.id_in(entry.text))
    ]
    start = next((number + 1 for number, id in marks if id == handoff), 0)
    end = next((number for number, id in marks if start and number >= start and id != handoff), None)
    yield from entries[start:end]
