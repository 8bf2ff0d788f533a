"""The conversation since its last compaction, as its entries arrive.

What was taken back is not carried. A person who goes on from an earlier place takes back what the agent did after it:
that is told by what their message hangs on. Entries of the agent tell no such thing, as what it does at once hangs on
one and the same.

A tail is bounded. When it is too large, the results of calls are shortened to their beginnings, the oldest first; only
when that is not enough do the oldest turns go, whole, and they are counted.
"""

from __future__ import annotations

from msgspec import Struct

from segue.conversation.pieces import LONGEST_NAME, Piece, Sort, beginning, fit_name, sound
from segue.conversation.turns import Turns, spans
from segue.facts import received_brief
from segue.model import Entry, EntryKind, Origin
from segue.model.brief_format import DELEGATED, HANDED_OVER

MOST = 2 << 20
"""How many bytes a tail takes up at most, more or less: half of a window of a million tokens is no more."""
LESS = MOST - MOST // 8
"""How far it is brought down when it is too large: not for every entry anew."""
LONGEST_RESULT = 2000
LOOKED_AT = 200
"""How many pieces are looked at for whether the agent answered."""
MOST_KEPT = 500
"""How many pieces stay at a compaction at most, of either sort."""
LONGEST_JOINED = 100_000
"""A text to which more and more is added does not grow beyond this."""
COMMANDS = ("!", "/")
"""What begins so is said to the program, which writes it down in any place: it takes nothing back."""

SUMMARY = "[Summary of what came before]"
LEFT = "[Summary of what was tried and left]"
UNREADABLE = "[What was done up to here was compacted, and the summary of it cannot be read.]"


class Kept(Struct, frozen=True, kw_only=True):
    """What an entry says of the conversation before it: what stays when the rest is compacted, or what is taken back.
    Only the agent's own file can tell."""

    ids: tuple[str, ...] = ()
    """Entries that stay."""
    since: str = ""
    """This entry stays, and all after it."""
    is_said: bool = False
    """Whether all that the person said stays."""
    until: str = ""
    """This entry is taken back, and all after it."""
    back: int = 0
    """How many of the person's messages are taken back, the last ones, with all that followed."""


class Tail(Struct):
    """The pieces that still stand. They are numbered, and keep their numbers when others go."""

    pieces: list[Piece] = []
    first: int = 0
    """The number of the first one."""
    size: int = 0
    dropped: int = 0
    """How many turns there was no space for."""
    cut: int = 0
    """Up to which number results have been shortened."""
    words: int = 0
    """Up to which number there are only words: what was done there was compacted."""
    waiting: dict[str, int] = {}
    """Calls without a result: the number of each, by the agent's own id."""
    unnamed: dict[str, int] = {}
    """The same for those that have no id."""
    ids: set[str] = set()
    """The ids of calls that are taken."""
    after: dict[str, int] = {}
    """How many there were, by number, right after an entry: what hangs on it stands behind these."""
    kept: Kept | None = None
    """What stays at the compaction that was announced."""

    @property
    def end(self) -> int:
        return self.first + len(self.pieces)

    def turns(self) -> Turns:
        """What is carried, as turns that are made when they are asked for."""
        return Turns(self.pieces, self.dropped)

    def add(self, entry: Entry, kept: Kept | None = None) -> None:
        """One more entry, with what it says of those before it."""
        if entry.subagent:
            return
        if kept is not None:
            self._heed(kept)
        match entry.kind:
            case EntryKind.PROMPT if entry.text.strip():
                self._add_prompt(entry)
            case EntryKind.REPLY if entry.text.strip():
                self._push(entry, Sort.AGENT, entry.text)
            case EntryKind.CALL:
                self._add_call(entry)
            case EntryKind.RESULT:
                self._add_result(entry)
            case EntryKind.IMAGE:
                self._add_image(entry)
            case EntryKind.SUMMARY:
                self._compact(entry)
        if self.size > MOST:
            self._shrink()

    def _push(self, entry: Entry, sort: Sort, text: str) -> Piece:
        piece = Piece(sort, sound(entry.id), sound(text), entry.at, sound(entry.model or ""))
        self.pieces.append(piece)
        self.size += piece.size
        if sort is not Sort.USE:
            self._came(entry)
        return piece

    def _came(self, entry: Entry) -> None:
        id = sound(entry.id)
        # Anew, so that the newest is always the last of them.
        self.after.pop(id, None)
        self.after[id] = self.end

    # What was said

    def _add_prompt(self, entry: Entry) -> None:
        if entry.origin is Origin.ASSISTANT:
            self._push(entry, Sort.ALONE, f"{DELEGATED}\n{entry.text}")
        if entry.origin is not Origin.HUMAN:
            return
        if not entry.text.lstrip().startswith(COMMANDS):
            self._go_back_to(entry.parent)
        last = self.pieces[-1] if self.pieces else None
        if last and last.sort is Sort.PERSON and last.images:
            # An image that was shown with these words.
            self._change(last, text=f"{last.text}\n{sound(entry.text)}", images="")
            self._came(entry)
        else:
            # What a handoff said is said anew by the next one.
            self._push(
                entry, Sort.PERSON, HANDED_OVER.text if received_brief.id_in(entry.text) else entry.text
            )

    def _add_image(self, entry: Entry) -> None:
        line = sound(f"[image: {entry.text}]")
        last = self.pieces[-1] if self.pieces else None
        if last and len(last.text) + len(last.images) > LONGEST_JOINED:
            return
        if entry.origin is Origin.HUMAN and last and last.sort is Sort.PERSON:
            self._change(last, text=f"{last.text}\n{line}")
        elif entry.origin is Origin.HUMAN:
            self._go_back_to(entry.parent)
            self._change(self._push(entry, Sort.PERSON, line), images=" ")
        elif entry.origin is Origin.ASSISTANT:
            self._push(entry, Sort.AGENT, line)
        elif entry.origin is Origin.TOOL and last and last.sort is Sort.USE:
            self._change(last, images=f"{last.images}\n{line}")

    # What was done

    def _add_call(self, entry: Entry) -> None:
        last = self.pieces[-1] if self.pieces else None
        is_later = last is not None and last.sort is Sort.USE and last.result is not None
        piece = self._push(entry, Sort.USE, entry.text)
        piece.tool = fit_name(entry.tool or "", "tool")
        piece.call = self._free(fit_name(entry.call or "", "call"))
        piece.is_later = is_later
        known, key = (self.waiting, sound(entry.call)) if entry.call else (self.unnamed, piece.id)
        # As above.
        known.pop(key, None)
        known[key] = self.end - 1

    def _free(self, id: str) -> str:
        """The id, or another where it is taken."""
        if id in self.ids:
            ending = f"-{self.end}"
            while (id := id[: LONGEST_NAME - len(ending)] + ending) in self.ids:
                ending += "x"
        self.ids.add(id)
        return id

    def _add_result(self, entry: Entry) -> None:
        if entry.call:
            number = self.waiting.pop(sound(entry.call), -1)
        else:
            key = sound(entry.parent or "")
            number = self.unnamed.pop(key if key in self.unnamed else next(iter(self.unnamed), ""), -1)
        if number < self.first:
            return
        text = sound(entry.text)
        if number < self.cut and len(text) > LONGEST_RESULT:
            text = beginning(text, LONGEST_RESULT)
        piece = self.pieces[number - self.first]
        self._change(piece, result=text)
        piece.is_error = entry.is_error or bool(entry.status)
        self._came(entry)

    def _change(self, piece: Piece, **fields: str) -> None:
        self.size -= piece.size
        for name, value in fields.items():
            setattr(piece, name, value)
        self.size += piece.size

    # What no longer stands

    def _go_back_to(self, parent: str | None) -> None:
        """Where the person goes on from: what the agent did after it is taken back. What is only the person's is not:
        they may say several things while the agent is at work."""
        number = self.after.setdefault(sound(parent), self.end) if parent else self.end
        if self._is_answered(number):
            self._truncate(number)

    def _is_answered(self, number: int) -> bool:
        """Whether the agent did something from a number on."""
        start = number - self.first
        behind = self.pieces[start : start + LOOKED_AT] if start >= 0 else []
        return any(piece.sort is not Sort.PERSON for piece in behind)

    def _heed(self, kept: Kept) -> None:
        """What an entry says of those before it; what stays, once the summary comes."""
        if kept.until:
            self._truncate(self.after.get(sound(kept.until), self.end + 1) - 1)
        elif kept.back:
            self._take_back(kept.back)
        else:
            self.kept = kept

    def _take_back(self, count: int) -> None:
        first = self.end
        for number in range(self.end - 1, self.first - 1, -1):
            if self.pieces[number - self.first].sort is Sort.PERSON:
                first, count = number, count - 1
            if not count:
                break
        self._truncate(first)

    def _truncate(self, number: int) -> None:
        """Only what comes before a number stands."""
        if not self.first <= number < self.end:
            return
        for piece in self.pieces[number - self.first :]:
            self.size -= piece.size
            self.ids.discard(piece.call)
        del self.pieces[number - self.first :]
        self.cut, self.words = min(self.cut, number), min(self.words, number)
        # What was added last is the last of each, so nothing is looked at in vain.
        for known, most in ((self.after, number), (self.waiting, number - 1), (self.unnamed, number - 1)):
            while known and next(reversed(known.values())) > most:
                known.popitem()

    def _compact(self, entry: Entry) -> None:
        """A summary takes the place of what came before. What the agent still has before it stays, and so does what
        the person said last and nobody answered."""
        text, kept = entry.text.strip(), self.kept or Kept()
        self.kept = None
        last = self.pieces[-1] if self.pieces else None
        is_summary = last is not None and last.sort is Sort.ALONE and last.text.startswith(f"{SUMMARY}\n")
        fork = self.after.get(sound(entry.parent or ""), self.end)
        if not text:
            self._keep_words(entry)
        elif self._is_answered(fork):
            # It hangs on an earlier place: the person went back there, and what it sums up was left.
            self._truncate(fork)
            self._push(entry, Sort.ALONE, f"{LEFT}\n{text}")
        elif last and is_summary and len(last.text) < LONGEST_JOINED:
            # One summary in several parts.
            self._change(last, text=f"{last.text}\n{sound(text)}")
        else:
            seen = self._still_seen(kept)
            own = [piece for piece in self.pieces if kept.is_said and piece.sort is Sort.PERSON]
            pieces = [piece for piece in self.pieces if id(piece) in seen]
            self._clear()
            self._adopt([piece for piece in own[-MOST_KEPT:] if id(piece) not in seen])
            self._push(entry, Sort.ALONE, f"{SUMMARY}\n{text}")
            self._adopt(pieces)
            # Whatever hangs on the summary stands behind these.
            self._came(entry)

    def _keep_words(self, entry: Entry) -> None:
        """Where no summary can be read, what was said stays, and only what was done goes."""
        start = max(self.words, self.first)
        if start < self.end:
            said = [piece for piece in self.pieces[start - self.first :] if piece.sort is not Sort.USE]
            self._truncate(start)
            self._adopt(said)
            self._push(entry, Sort.ALONE, UNREADABLE)
            self.words = self.end

    def _still_seen(self, kept: Kept) -> set[int]:
        """What stands behind the summary, just as it was."""
        ids, found, is_unanswered = set(kept.ids), set(), True
        newest = self.pieces[-MOST_KEPT:]
        since = next((n for n, piece in enumerate(newest) if _record(piece) == kept.since), len(newest))
        for n, piece in reversed(list(enumerate(newest))):
            is_unanswered = is_unanswered and piece.sort is Sort.PERSON
            if is_unanswered or n >= since or piece.id in ids or _record(piece) in ids:
                found.add(id(piece))
        return found

    def _clear(self) -> None:
        """Nothing stands; numbers go on."""
        self.first = self.end
        self.size = self.dropped = 0
        for known in (self.pieces, self.waiting, self.unnamed, self.ids, self.after):
            known.clear()

    def _adopt(self, pieces: list[Piece]) -> None:
        """Pieces that stood before, at the end."""
        for piece in pieces:
            self.pieces.append(piece)
            self.size += piece.size
            if piece.sort is Sort.USE:
                self.ids.add(piece.call)
            else:
                self.after[piece.id] = self.end

    # What there is no space for

    def _shrink(self) -> None:
        number = max(self.cut, self.first)
        while self.size > LESS and number < self.end:
            piece = self.pieces[number - self.first]
            if piece.result and len(piece.result) > LONGEST_RESULT:
                self._change(piece, result=beginning(piece.result, LONGEST_RESULT))
            number += 1
        self.cut = number
        if self.size <= LESS:
            return
        count, size = 0, self.size
        for start, stop in spans(self.pieces):
            if size <= LESS or stop == len(self.pieces):
                break
            size -= sum(piece.size for piece in self.pieces[start:stop])
            self.dropped += 1
            count = stop
        # A turn can have any number of calls.
        while size > LESS and count < len(self.pieces) - 1:
            size -= self.pieces[count].size
            count += 1
        for piece in self.pieces[:count]:
            self.ids.discard(piece.call)
        del self.pieces[:count]
        self.first, self.size = self.first + count, size
        self.after = {id: number for id, number in self.after.items() if number >= self.first}
        self.waiting = {id: number for id, number in self.waiting.items() if number >= self.first}
        self.unnamed = {id: number for id, number in self.unnamed.items() if number >= self.first}


def _record(piece: Piece) -> str:
    """The record that an entry was made of, by its id: a record with several entries numbers them."""
    return piece.id.partition("#")[0].partition("~")[0]
