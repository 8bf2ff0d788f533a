"""What the target really holds: read back from its own records. A process that started proves nothing."""

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
    """What to look for, and where."""

    agent: str
    """The agent whose transcript it will be."""
    handoff: str
    """Empty where it is no handoff: then it is the text alone that tells."""
    project: Path
    since: int
    """Transcripts that were last changed before this moment (in nanoseconds) are not looked at."""
    text: str
    """What was said."""
    is_in_file: bool = False
    """Whether that was only where to read the rest."""
    path: str = ""
    """Where it should be, if that is known."""
    part: str = ""
    besides: tuple[str, ...] = ()
    """Transcripts that are another's, by their names."""


class Arrival(Struct, frozen=True):
    """What was found."""

    source: Source | None = None
    id: str = ""
    """Of the transcript."""
    has_handoff: bool = False
    """Whether the target has recorded what was said to it."""
    is_whole: bool = False
    """Whether that is, word for word, what was said."""
    is_first: bool = False
    """Whether nothing was asked there before."""
    is_in_file: bool = False
    """Whether that tells only where to read the rest: nothing shows that it was read."""
    carried: int = 0
    """Of the turns that were carried along and have words, how many stand before it."""
    due: int = 0
    """How many there are."""
    ending: Ending = Ending.OPEN
    reply: str = ""
    """What the agent said last, after it."""

    @property
    def is_there(self) -> bool:
        """Whether the target has all of it. A few turns may be told otherwise than they were written."""
        return self.has_handoff and self.is_whole and self.carried >= MOST_OF * self.due


def look(sought: Sought, env: Mapping[str, str], conversation: Conversation | None = None) -> Arrival:
    """Look through what the target has left since it was started."""
    for source in _candidates(sought, env):
        try:
            found = _read(source, sought, conversation or Conversation())
        except AgentError:
            continue
        if found.has_handoff:
            return found
    return Arrival()


def state_of_files(sought: Sought, env: Mapping[str, str]) -> tuple[tuple[str, str, int, int], ...]:
    """What changes whenever the target writes something down."""
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
    """What tells a transcript from all others on this machine."""
    return f"{source.path}#{source.part}" if source.part else source.path


def there_since(agent: str, project: Path, since: int, env: Mapping[str, str]) -> tuple[str, ...]:
    """The names of an agent's transcripts in a folder that were written to from a moment on."""
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
    """What happened in a transcript from the moment a handoff was read until another one was; from the beginning
    where it never was."""
    entries = list(agents.reader(source.agent).read(source))
    marks = [
        (number, id)
        for number, entry in enumerate(entries)
        if entry.kind is EntryKind.PROMPT and (id := received_brief.id_in(entry.text))
    ]
    start = next((number + 1 for number, id in marks if id == handoff), 0)
    end = next((number for number, id in marks if start and number >= start and id != handoff), None)
    yield from entries[start:end]
