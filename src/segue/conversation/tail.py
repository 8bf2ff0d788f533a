"""Tail of a conversation: its pieces since the last compaction, added entry by entry.

Steps that were taken back are dropped. If a user continues from an earlier place (the parent of the message shows
it), everything that the agent did after that place is taken back. Parents of the agent's entries show nothing:
parallel calls have the same one.

A tail is bounded. When it is too large, the oldest results are shortened first; if that is not enough, the oldest
turns are dropped and counted.
"""

from __future__ import annotations

from msgspec import Struct

from segue.conversation.pieces import LONGEST_NAME, Piece, Sort, beginning, fit_name, sound
from segue.conversation.turns import Turns, spans
from segue.facts import received_brief
from segue.model import Entry, EntryKind, Origin
from segue.model.brief_format import DELEGATED, HANDED_OVER

MOST = 2 << 20
"""Approximate maximum size in bytes: no more than half a window of a million tokens."""
LESS = MOST - MOST // 8
"""Size after shrinking, so that not every entry shrinks the tail again."""
LONGEST_RESULT = 2000
LOOKED_AT = 200
"""Number of pieces checked for an answer of the agent."""
MOST_KEPT = 500
"""Maximum number of pieces of either sort that survive a compaction."""
LONGEST_JOINED = 100_000
"""Texts that grow stop at this size."""
COMMANDS = ("!", "/")
"""Prefixes of input for the program. It may be recorded anywhere and takes nothing back."""

SUMMARY = "[Summary of what came before]"
LEFT = "[Summary of what was tried and left]"
UNREADABLE = "[What was done up to here was compacted, and the summary of it cannot be read.]"


class Kept(Struct, frozen=True, kw_only=True):
    """Effect of an entry on the conversation before it: which pieces survive a compaction, or which are taken
    back. Only the agent's own file shows it."""

    ids: tuple[str, ...] = ()
    """Entries that survive."""
    since: str = ""
    """This entry and everything after it survive."""
    is_said: bool = False
    """Whether all user messages survive."""
    until: str = ""
    """This entry and everything after it are taken back."""
    back: int = 0
    """Number of last user messages that are taken back, with everything after them."""


class Tail(Struct):
    """Pieces that still count. They are numbered, and keep their numbers when others are removed."""

    pieces: list[Piece] = []
    first: int = 0
    """Number of the first piece."""
    size: int = 0
    dropped: int = 0
    """Number of turns dropped for lack of space."""
    cut: int = 0
    """Number up to which results are shortened."""
    words: int = 0
    """Number up to which only words are left: the calls were compacted."""
    waiting: dict[str, int] = {}
    """Numbers of calls without a result, by the agent's id."""
    unnamed: dict[str, int] = {}
    """The same for calls without an id."""
    ids: set[str] = set()
    """Ids of calls in use."""
    after: dict[str, int] = {}
    """End of the pieces right after each entry: children of the entry come behind it."""
    kept: Kept | None = None
    """Survivors of the announced compaction."""

    @property
    def end(self) -> int:
        return self.first + len(self.pieces)

    def turns(self) -> Turns:
        """The tail as turns, which are built on access."""
        return Turns(self.pieces, self.dropped)

    def add(self, entry: Entry, kept: Kept | None = None) -> None:
        """Add an entry, with its effect on the entries before it."""
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
        # Insert again, so that the newest is always last.
        self.after.pop(id, None)
        self.after[id] = self.end

    # Messages

    def _add_prompt(self, entry: Entry) -> None:
        if entry.origin is Origin.ASSISTANT:
            self._push(entry, Sort.ALONE, f"{DELEGATED}\n{entry.text}")
        if entry.origin is not Origin.HUMAN:
            return
        if not entry.text.lstrip().startswith(COMMANDS):
            self._go_back_to(entry.parent)
        last = self.pieces[-1] if self.pieces else None
        if last and last.sort is Sort.PERSON and last.images:
            # An image that was sent with this text.
            self._change(last, text=f"{last.text}\n{sound(entry.text)}", images="")
            self._came(entry)
        else:
            # The next handoff repeats a brief's content.
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

    # Calls

    def _add_call(self, entry: Entry) -> None:
        last = self.pieces[-1] if self.pieces else None
        is_later = last is not None and last.sort is Sort.USE and last.result is not None
        piece = self._push(entry, Sort.USE, entry.text)
        piece.tool = fit_name(entry.tool or "", "tool")
        piece.call = self._free(fit_name(entry.call or "", "call"))
        piece.is_later = is_later
        known, key = (self.waiting, sound(entry.call)) if entry.call else (self.unnamed, piece.id)
        # Insert again, as above.
        known.pop(key, None)
        known[key] = self.end - 1

    def _free(self, id: str) -> str:
        """The id, or a similar one if it is in use."""
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

    # Removed pieces

    def _go_back_to(self, parent: str | None) -> None:
        """Take back what the agent did after the place from which the user continues. The user's own messages
        stay: they may send several while the agent works."""
        number = self.after.setdefault(sound(parent), self.end) if parent else self.end
        if self._is_answered(number):
            self._truncate(number)

    def _is_answered(self, number: int) -> bool:
        """Whether the agent did something from a number on."""
        start = number - self.first
        behind = self.pieces[start : start + LOOKED_AT] if start >= 0 else []
        return any(piece.sort is not Sort.PERSON for piece in behind)

    def _heed(self, kept: Kept) -> None:
        """Apply an entry's effect; survivors are stored until the summary arrives."""
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
        """Remove everything from a number on."""
        if not self.first <= number < self.end:
            return
        for piece in self.pieces[number - self.first :]:
            self.size -= piece.size
            self.ids.discard(piece.call)
        del self.pieces[number - self.first :]
        self.cut, self.words = min(self.cut, number), min(self.words, number)
        # The values are in ascending order, so only the last ones are checked.
        for known, most in ((self.after, number), (self.waiting, number - 1), (self.unnamed, number - 1)):
            while known and next(reversed(known.values())) > most:
                known.popitem()

    def _compact(self, entry: Entry) -> None:
        """Replace everything so far by a summary, except the survivors and the user's last unanswered messages."""
        text, kept = entry.text.strip(), self.kept or Kept()
        self.kept = None
        last = self.pieces[-1] if self.pieces else None
        is_summary = last is not None and last.sort is Sort.ALONE and last.text.startswith(f"{SUMMARY}\n")
        fork = self.after.get(sound(entry.parent or ""), self.end)
        if not text:
            self._keep_words(entry)
        elif self._is_answered(fork):
            # The user went back to an earlier place; the summary covers what was abandoned.
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
            # Children of the summary come behind these pieces.
            self._came(entry)

    def _keep_words(self, entry: Entry) -> None:
        """Without a readable summary, keep the words and remove the calls."""
        start = max(self.words, self.first)
        if start < self.end:
            said = [piece for piece in self.pieces[start - self.first :] if piece.sort is not Sort.USE]
            self._truncate(start)
            self._adopt(said)
            self._push(entry, Sort.ALONE, UNREADABLE)
            self.words = self.end

    def _still_seen(self, kept: Kept) -> set[int]:
        """Ids of the pieces that survive a compaction unchanged."""
        ids, found, is_unanswered = set(kept.ids), set(), True
        newest = self.pieces[-MOST_KEPT:]
        since = next((n for n, piece in enumerate(newest) if _record(piece) == kept.since), len(newest))
        for n, piece in reversed(list(enumerate(newest))):
            is_unanswered = is_unanswered and piece.sort is Sort.PERSON
            if is_unanswered or n >= since or piece.id in ids or _record(piece) in ids:
                found.add(id(piece))
        return found

    def _clear(self) -> None:
        """Remove everything; numbers continue."""
        self.first = self.end
        self.size = self.dropped = 0
        for known in (self.pieces, self.waiting, self.unnamed, self.ids, self.after):
            known.clear()

    def _adopt(self, pieces: list[Piece]) -> None:
        """Append surviving pieces."""
        for piece in pieces:
            self.pieces.append(piece)
            self.size += piece.size
            if piece.sort is Sort.USE:
                self.ids.add(piece.call)
            else:
                self.after[piece.id] = self.end

    # Bounded size

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
    """Id of the record that an entry comes from: a record with several entries numbers them."""
    return piece.id.partition("#")[0].partition("~")[0]
