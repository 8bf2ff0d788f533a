"""Turns built from the pieces of a tail."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

import msgspec

from segue.conversation.pieces import Piece, Sort, sound
from segue.model import brief_format
from segue.model.conversation import Speaker, ToolUse, Turn

INTERRUPTED = "[Interrupted: no result was recorded.]"
SUMMARISED = brief_format.SUMMARISED.text
LEFT_OUT = brief_format.LEFT_OUT.text
DEEPEST = 50
"""Maximum depth of nested values in a tool's arguments."""
LARGEST = 1 << 53
"""Larger integers are not exact in every language."""

_DECODER = msgspec.json.Decoder(dict[str, Any])


def spans(pieces: Sequence[Piece]) -> Iterator[tuple[int, int]]:
    """Start and end of each turn: the agent's words, and the calls right after them."""
    start, has_uses = 0, False
    for n, piece in enumerate(pieces):
        goes_on = n > start and _goes_on(pieces[n - 1], piece, has_uses)
        if n > start and not goes_on:
            yield start, n
            start, has_uses = n, False
        has_uses |= piece.sort is Sort.USE
    if pieces:
        yield start, len(pieces)


def _goes_on(before: Piece, piece: Piece, has_uses: bool) -> bool:
    if before.sort in (Sort.PERSON, Sort.ALONE):
        return False
    if piece.sort is Sort.USE:
        return not piece.is_later
    return piece.sort is Sort.AGENT and not has_uses


class Turns(Sequence[Turn]):
    """Turns of a tail, built on access because mostly the newest ones are needed."""

    def __init__(self, pieces: Sequence[Piece], dropped: int = 0) -> None:
        self._pieces = pieces
        self._spans = list(spans(pieces))
        self.dropped = dropped
        """Number of turns before the first."""
        self._opening = [opening(pieces[0])] if pieces and pieces[0].sort is not Sort.PERSON else []

    def is_person(self, n: int) -> bool:
        """Whether a turn is the user's, without building it."""
        at = n - len(self._opening)
        return at < 0 or self._pieces[self._spans[at][0]].sort is Sort.PERSON

    def __len__(self) -> int:
        return len(self._opening) + len(self._spans)

    @overload
    def __getitem__(self, at: int) -> Turn: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Turn, ...]: ...
    def __getitem__(self, at: int | slice) -> Turn | tuple[Turn, ...]:
        if isinstance(at, slice):
            return tuple(self[n] for n in range(*at.indices(len(self))))
        n = range(len(self))[at]
        if n < len(self._opening):
            return self._opening[n]
        start, stop = self._spans[n - len(self._opening)]
        return turn_of(self._pieces[start:stop])


def opening(first: Piece) -> Turn:
    """Placeholder for a user turn where the agent would speak first. Nobody can mistake it for the user's words."""
    is_summary = first.sort is Sort.ALONE
    return Turn(speaker=Speaker.PERSON, text=SUMMARISED if is_summary else LEFT_OUT, at=first.at)


def turn_of(pieces: Sequence[Piece]) -> Turn:
    is_person = pieces[0].sort is Sort.PERSON
    return Turn(
        speaker=Speaker.PERSON if is_person else Speaker.AGENT,
        text="\n\n".join(piece.text for piece in pieces if piece.sort is not Sort.USE),
        uses=tuple(use_of(piece) for piece in pieces if piece.sort is Sort.USE),
        at=pieces[0].at,
        model=next((piece.model for piece in pieces if piece.model), ""),
    )


def use_of(piece: Piece) -> ToolUse:
    is_cut_off = piece.result is None
    return ToolUse(
        id=piece.call,
        tool=piece.tool,
        arguments=arguments_of(piece.text),
        result=(INTERRUPTED if piece.result is None else piece.result) + piece.images,
        is_error=piece.is_error or is_cut_off,
    )


def arguments_of(text: str) -> dict[str, Any]:
    """Arguments of a tool; anything but a JSON object is wrapped in one."""
    if not text.strip():
        return {}
    try:
        given = _DECODER.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return {"input": text}
    if not _is_plain(given):
        return {"input": text}
    return changed(given, sound) if "\\u0000" in text else given


def changed(value: Any, change: Callable[[str], str]) -> Any:
    """The same value with every text changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(key): changed(inner, change) for key, inner in value.items()}
    return [changed(inner, change) for inner in value] if isinstance(value, list) else value


def _is_plain(given: dict[str, Any]) -> bool:
    """Whether every language can write the arguments unchanged."""
    level: list[Any] = [given]
    for _ in range(DEEPEST):
        below = []
        for one in level:
            for inner in one.values() if isinstance(one, dict) else one:
                if isinstance(inner, dict | list):
                    below.append(inner)
                elif isinstance(inner, int) and abs(inner) > LARGEST:
                    return False
        if not below:
            return True
        level = below
    return False
