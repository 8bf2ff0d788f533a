"""Cached tracker and conversation tail of a transcript, resumed from the last offset.

The facts (a tracker) and the conversation (a tail) are cached separately, each with its own mark. Facts are small and
read often. A conversation is only needed for a handoff, and would take longer to load than everything else.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from segue import __version__, agents
from segue.agents.shared.tool_calls import classify
from segue.agents.shared.transcripts.reader import Reading
from segue.base.hashes import short_hash
from segue.briefs.select import WORDS
from segue.conversation import Kept, Tail
from segue.errors import StoreError
from segue.facts.tracker import Tracker
from segue.model import Entry, EntryKind, Fact, Mark, Origin, Source
from segue.model.tool_action import Act, Answer, Going
from segue.store.cache_files import Papers

VERSION = f"11 of {__version__}"
"""A cache of another version is discarded: its facts come from other rules."""
WORTH_KEEPING = 1 << 20
"""A smaller transcript is not cached: reading it again is as fast."""
BEHIND = 1 << 20
"""How many bytes a cached tail may be behind; they are read on demand."""
MOST_TAILS = 20
SAYING = (EntryKind.NOTE, EntryKind.SUMMARY)
"""Kinds of entries that may record a compaction: which earlier turns remain."""


class Meaning(Struct, frozen=True):
    """The meaning of an agent's tool calls, for a tracker."""

    agent: str

    def acts(self, call: Entry, result: Entry | None) -> tuple[Act, ...]:
        return classify.acts_of(call, self.agent, result=result)

    def is_done(self, call: Entry, result: Entry) -> bool:
        return classify.is_done(call, result, self.agent)

    def answer(self, call: Entry, result: Entry) -> Answer | None:
        return classify.answer_of(call, result, self.agent)

    def going(self, call: Entry, result: Entry) -> Going | None:
        return classify.going_of(call, result, self.agent)


class Followed(Struct):
    """The conversation tail of a transcript, and the mark up to which it was read."""

    source: Source
    tail: Tail
    mark: Mark | None = None
    version: str = VERSION

    def reset(self) -> None:
        self.tail = Tail()

    def add(self, entry: Entry) -> None:
        kept = _kept_by(self.source.agent) if entry.kind in SAYING else None
        self.tail.add(entry, kept(entry) if kept else None)


@functools.cache
def _kept_by(agent: str) -> Callable[[Entry], Kept | None] | None:
    """An agent's own function that reads which turns survive a compaction, if it has one."""
    found: Callable[[Entry], Kept | None] | None = agents.load(agent).kept
    return found


class Warm(Struct, dict=True):
    """A transcript's tracker, and the mark up to which it was read."""

    source: Source
    tracker: Tracker
    mark: Mark | None = None
    learned: dict[str, str] = {}
    """The transcript's own metadata: id, title and folder."""
    folder: str = ""
    """Where its tail is cached; empty if it is not."""
    told: int = 0
    """Up to which offset the cached tail was read."""
    broken: int = 0
    """Number of unreadable lines."""
    version: str = VERSION
    doubt: str = ""
    """Why it may not be the user's transcript, if so: its prompts then count as an agent's words."""

    def reset(self) -> None:
        self.tracker = Tracker()

    def add(self, entry: Entry) -> None:
        self.tracker.add(entry, Meaning(self.source.agent))

    def refresh(self) -> int:
        """Read new entries and return their number."""
        # A transcript that is read from the start fills tracker and tail in one pass.
        goes_on = _goes_on(self.mark)
        beside = Followed(self.source, Tail()) if self.folder and not goes_on else None
        count, reading = _read(self.source, self.mark, [self, beside] if beside else [self])
        self.mark = reading.mark
        self.learned |= {key: value for key, value in reading.learned.items() if isinstance(value, str)}
        self.__dict__.pop("tail", None)
        self.told = 0 if reading.is_anew else self.told
        self.broken = reading.broken + (self.broken if goes_on and not reading.is_anew else 0)
        if beside:
            beside.mark = reading.mark
            self.__dict__["tail"] = beside.tail
            _keep(beside, _tails(self.folder))
        elif self.folder and reading.mark.offset - self.told > BEHIND:
            self.__dict__["tail"] = open_tail(self.source, self.folder)
        if "tail" in self.__dict__:
            self.told = reading.mark.offset
        return count

    @functools.cached_property
    def tail(self) -> Tail:
        """The conversation since its last compaction, for the next agent."""
        return open_tail(self.source, self.folder)

    def facts(self) -> tuple[Fact, ...]:
        found = self.tracker.all(Meaning(self.source.agent))
        return tuple(map(_as_data, found)) if self.doubt else found


def _as_data(fact: Fact) -> Fact:
    """A prompt's fact as words of an agent, which are not instructions."""
    if fact.kind not in WORDS:
        return fact
    return msgspec.structs.replace(fact, kind="talk", origin=Origin.ASSISTANT)


def _goes_on(mark: Mark | None) -> bool:
    """Whether a read resumes from a mark. A document (offset 0) is read as a whole: new and changed parts cannot be
    distinguished."""
    return mark is not None and mark.offset > 0


def _read(source: Source, mark: Mark | None, followers: Sequence[Warm | Followed]) -> tuple[int, Reading]:
    """Pass every entry since a mark to the followers, and return how many. If the transcript restarted, reset them."""
    reading = agents.reader(source.agent).read(source, mark if _goes_on(mark) else None)
    count = 0
    for entry in reading:
        for follower in followers:
            # With the first entry it is known whether the transcript restarted.
            if not count and (reading.is_anew or not _goes_on(mark)):
                follower.reset()
            follower.add(entry)
        count += 1
    if not count and (reading.is_anew or not _goes_on(mark)):
        for follower in followers:
            follower.reset()
    return count, reading


def open_warm(source: Source, papers: Papers | None = None, doubt: str = "") -> Warm:
    """Open a transcript's tracker, read what is new, and cache it if that pays off. `doubt` says why it may not be the
    user's transcript."""
    warm = (_kept(source, papers, Warm) if papers else None) or Warm(source, Tracker())
    warm.source = source
    warm.folder = str(papers.folder) if papers else ""
    if warm.refresh() and papers:
        warm.facts()  # caches what it computes, too
        _keep(warm, papers)
    warm.doubt = doubt
    return warm


def open_tail(source: Source, folder: str = "") -> Tail:
    """Open a transcript's conversation tail, read what is new, and cache it in a folder if that pays off."""
    papers = _tails(folder) if folder else None
    followed = (_kept(source, papers, Followed) if papers else None) or Followed(source, Tail())
    followed.source = source
    start = followed.mark.offset if followed.mark else 0
    _, reading = _read(source, followed.mark, [followed])
    followed.mark = reading.mark
    if papers and (reading.is_anew or reading.mark.offset - start > BEHIND):
        _keep(followed, papers)
    return followed.tail


def _tails(folder: str) -> Papers:
    return Papers(Path(folder), suffix=".tail", most=MOST_TAILS)


T = TypeVar("T", Warm, Followed)


def _keep(what: Warm | Followed, papers: Papers) -> None:
    if _goes_on(what.mark) and what.source.size >= WORTH_KEEPING:
        with contextlib.suppress(StoreError):  # no room: it is read again next time
            papers.put(_name_of(what.source), msgspec.msgpack.encode(what))


def _kept(source: Source, papers: Papers, kind: type[T]) -> T | None:
    content = papers.get(_name_of(source))
    if content is None:
        return None
    try:
        found = msgspec.msgpack.decode(content, type=kind)
    except msgspec.DecodeError:
        return None
    is_sound = _goes_on(found.mark) and found.version == VERSION
    return found if is_sound and _name_of(found.source) == _name_of(source) else None


def _name_of(source: Source) -> str:
    return short_hash(f"{source.agent}\0{source.path}\0{source.part}".encode()).hex()
