"""Selection of the newest turns that fit a token budget.

A turn is taken whole or not at all. Only results of tools are shortened, in the middle, except those of the last
uses. If the agent would speak first, the user message that it answers is placed before it.

Half a secret, or one without its name, is not recognised. So each end is first scanned together with the text
before it: pass `clean` here, and don't pass the result to `clean_turns`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from msgspec import Struct

from segue.briefs.tokens import Counter
from segue.conversation.clean import cleaned
from segue.conversation.turns import LEFT_OUT, Turns
from segue.model.conversation import Speaker, ToolUse, Turn

LONGEST_RESULT = 2000
HEAD, TAIL = 1300, 600
SPARED = 10
"""Number of last uses whose results stay whole."""
MARGIN = 4000
"""Characters scanned before an end. No secret is longer except some keys, and those have a visible end."""
END_OF_KEY = "-----END "
PER_TURN, PER_USE = 8, 16
"""Tokens that vendors' formats add."""
SHARE = 4
"""The user message before the first turn may use one part in this many of the budget."""
TRIES = 4
"""Attempts to find such a message: each may be longer than the space made for it."""

GAP = Turn(speaker=Speaker.AGENT, text="[The next steps of this conversation are left out.]")
OPENING = Turn(speaker=Speaker.PERSON, text=LEFT_OUT)

Clean = Callable[[str], str]


class Pick(Struct):
    """A selected turn, whole and as it will be passed."""

    whole: Turn
    turn: Turn
    spared: int
    """Number of last uses with whole results; -1 for all."""
    weight: int


def weight(turn: Turn, counter: Counter) -> int:
    """Number of tokens of a turn in a vendor's format."""
    texts = [turn.text]
    for use in turn.uses:
        texts += (use.tool, msgspec.json.encode(use.arguments).decode(), use.result)
    return counter.count("\n".join(texts)) + PER_TURN + PER_USE * len(turn.uses)


def fit(
    turns: Sequence[Turn], room: int, counter: Counter, *, whole_results: bool, clean: Clean | None = None
) -> tuple[tuple[Turn, ...], int]:
    """Select the newest turns within a token budget. Returns them and the number of older ones. With `clean`,
    secrets are removed."""
    picks = _newest(turns, room, counter, whole_results)
    opening = _make_room(turns, picks, room, counter, None)
    if clean is not None:
        # A placeholder may be longer than its secret.
        opening = _make_room(turns, picks, room, counter, clean)
    before = turns.dropped if isinstance(turns, Turns) else 0
    if not picks:
        return (), before + len(turns)
    is_answered = bool(opening) and opening[0].whole is not OPENING
    dropped = before + len(turns) - len(picks) - is_answered
    return tuple(pick.turn for pick in [*opening, *picks]), dropped


def _make_room(
    turns: Sequence[Turn], picks: list[Pick], room: int, counter: Counter, clean: Clean | None
) -> list[Pick]:
    """Choose the turns before the selected ones, and drop the oldest selected ones until all fit."""
    tries = 0
    while True:
        opening = _opening(turns, len(turns) - len(picks), room, counter, may_be_long=tries < TRIES)
        if clean is not None:
            _clean([*opening, *picks], counter, clean)
        over = sum(pick.weight for pick in [*opening, *picks]) - room
        if over <= 0 or not picks:
            return opening
        count = 0
        while over > 0 and count < len(picks):
            over -= picks[count].weight
            count += 1
        del picks[:count]
        tries += 1


def _newest(turns: Sequence[Turn], room: int, counter: Counter, whole_results: bool) -> list[Pick]:
    picks: list[Pick] = []
    spared, left = SPARED, room
    for n in range(len(turns) - 1, -1, -1):
        turn = turns[n]
        pick = _pick(turn, -1 if whole_results else spared, counter)
        if pick.weight > left and not whole_results:
            pick = _pick(turn, 0, counter)
        if pick.weight > left:
            break
        picks.append(pick)
        left -= pick.weight
        spared = max(0, spared - len(turn.uses))
    return picks[::-1]


def _pick(turn: Turn, spared: int, counter: Counter) -> Pick:
    short = _with_short_results(turn, turn, spared)
    return Pick(turn, short, spared, weight(short, counter))


def _opening(
    turns: Sequence[Turn], first: int, room: int, counter: Counter, *, may_be_long: bool
) -> list[Pick]:
    """Turns before the first selected one, if that is the agent's."""
    if first >= len(turns) or _is_person(turns, first):
        return []
    for n in range(first - 1, -1, -1) if may_be_long else ():
        if _is_person(turns, n):
            found = _pick(turns[n], -1, counter)
            if found.weight * SHARE > room:
                break
            return [found] if n == first - 1 else [found, _pick(GAP, -1, counter)]
    return [_pick(OPENING, -1, counter)]


def _is_person(turns: Sequence[Turn], n: int) -> bool:
    return turns.is_person(n) if isinstance(turns, Turns) else turns[n].speaker is Speaker.PERSON


def _clean(picks: list[Pick], counter: Counter, clean: Clean) -> None:
    wide = [_with_short_results(pick.whole, pick.whole, pick.spared, MARGIN) for pick in picks]
    for pick, turn in zip(picks, cleaned(wide, clean), strict=True):
        short = _with_short_results(turn, pick.whole, pick.spared)
        if short != pick.turn:
            pick.turn, pick.weight = short, weight(short, counter)


# Results


def _with_short_results(turn: Turn, whole: Turn, spared: int, margin: int = 0) -> Turn:
    """Shorten all but the last results; `whole` is the original turn."""
    count = 0 if spared < 0 else max(0, len(turn.uses) - spared)
    if not any(len(use.result) > LONGEST_RESULT for use in turn.uses[:count]):
        return turn
    short: list[ToolUse] = []
    for use, known in zip(turn.uses[:count], whole.uses, strict=False):
        result = shortened(use.result, len(known.result), margin)
        short.append(use if result is use.result else msgspec.structs.replace(use, result=result))
    return msgspec.structs.replace(turn, uses=(*short, *turn.uses[count:]))


def shortened(text: str, length: int = 0, margin: int = 0) -> str:
    """Beginning and end of a long text with the number of missing characters, of the `length` that it had. Words
    stay whole. `margin` lengthens the end."""
    length = max(length, len(text))
    if length <= LONGEST_RESULT or len(text) <= LONGEST_RESULT + margin:
        return text
    head, tail = text[:HEAD], text[-TAIL - margin :]
    if not text[len(head)].isspace():
        head = head[: len(head) - len(_last_word(head))]
    if not text[-len(tail) - 1].isspace():
        tail = tail[len(_last_word(tail[::-1])) :]
    tail = _without_half_a_key(tail)
    missing = length - len(head) - len(tail)
    return f"{head.rstrip()}\n[… {missing:,} characters left out …]\n{tail.lstrip()}"


def _without_half_a_key(tail: str) -> str:
    at = tail.find(END_OF_KEY)
    return tail[at:].partition("\n")[2] if at >= 0 and "-----BEGIN " not in tail[:at] else tail


def _last_word(text: str) -> str:
    words = text.rsplit(None, 1)
    return words[-1] if words and not text[-1].isspace() else ""
