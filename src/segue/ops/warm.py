"""Trackers that are kept and gone on with: of a long transcript only what is new since the last look is read."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from segue import __version__, agents
from segue.acts import Act, Answer, Going
from segue.agents import acting
from segue.digest import short_hash
from segue.facts.tracker import Tracker
from segue.model import Entry, Fact, Mark, Source
from segue.store.papers import Papers

VERSION = f"1 of {__version__}"
"""What was learned by other rules is not gone on with."""
WORTH_KEEPING = 1 << 20
"""A smaller transcript is as quickly read again."""


class Meaning(Struct, frozen=True):
    """What an agent's calls mean, for a tracker."""

    agent: str

    def acts(self, call: Entry, result: Entry | None) -> tuple[Act, ...]:
        return acting.acts_of(call, self.agent, result=result)

    def is_done(self, call: Entry, result: Entry) -> bool:
        return acting.is_done(call, result, self.agent)

    def answer(self, call: Entry, result: Entry) -> Answer | None:
        return acting.answer_of(call, result, self.agent)

    def going(self, call: Entry, result: Entry) -> Going | None:
        return acting.going_of(call, result, self.agent)


class Warm(Struct):
    """How far a transcript was read, and what is known of it up to there."""

    source: Source
    tracker: Tracker
    mark: Mark | None = None
    learned: dict[str, str] = {}
    """What the transcript says of itself: its id, title and folder."""
    version: str = VERSION

    def refresh(self) -> int:
        """Read what came since; how many entries that was."""
        reads = Meaning(self.source.agent)
        # Of a document, what is new cannot be told from what has changed: it is read as a whole.
        mark = self.mark if self.mark and self.mark.offset else None
        if mark is None:
            self.tracker = Tracker()
        reading = agents.reader(self.source.agent).read(self.source, mark)
        count = 0
        for entry in reading:
            if not count and reading.is_anew:
                self.tracker = Tracker()
            self.tracker.add(entry, reads)
            count += 1
        if not count and reading.is_anew:
            self.tracker = Tracker()
        self.mark = reading.mark
        self.learned |= {key: value for key, value in reading.learned.items() if isinstance(value, str)}
        return count

    def facts(self) -> tuple[Fact, ...]:
        return self.tracker.all(Meaning(self.source.agent))


def open_warm(source: Source, papers: Papers | None = None) -> Warm:
    """What is known of a transcript, brought up to date; kept for the next time where that pays."""
    name = short_hash(f"{source.agent}\0{source.path}\0{source.part}".encode()).hex()
    warm = _kept(name, source, papers) or Warm(source, Tracker())
    warm.source = source
    count = warm.refresh()
    is_followed = warm.mark is not None and warm.mark.offset > 0
    if papers is not None and count and is_followed and source.size >= WORTH_KEEPING:
        papers.put(name, msgspec.msgpack.encode(warm))
    return warm


def _kept(name: str, source: Source, papers: Papers | None) -> Warm | None:
    content = papers.get(name) if papers else None
    if content is None:
        return None
    try:
        warm = msgspec.msgpack.decode(content, type=Warm)
    except msgspec.DecodeError:
        return None
    is_sound = warm.mark is not None and warm.mark.offset > 0 and warm.version == VERSION
    same = (warm.source.agent, warm.source.path, warm.source.part) == (source.agent, source.path, source.part)
    return warm if is_sound and same else None
