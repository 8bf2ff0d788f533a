"""The newest turns that fit a room.

A turn is taken whole or not at all; only what tools gave back is shortened, from its middle, and of the last uses
nothing. Where the agent would speak first, the person's message that it was answering stands before it.

Half of a secret is not recognised as one, nor one without its name. So an end is first looked through together with
what comes before it: whoever cleans passes `clean` here, and not what came out to `cleaned`.
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
"""Of how many of the last uses the results stay whole."""
MARGIN = 4000
"""How much is looked at before an end: no secret is longer, but for some keys, and of these one sees the end."""
END_OF_KEY = "-----END "
PER_TURN, PER_USE = 8, 16
"""Tokens for what every vendor's format puts around them."""
SHARE = 4
"""The message that an agent was answering takes at most this part of the room."""
TRIES = 4
"""How often such a message is tried: each may be longer than the room that was made for it."""

GAP = Turn(speaker=Speaker.AGENT, text="[The next steps of this conversation are left out.]")
OPENING = Turn(speaker=Speaker.PERSON, text=LEFT_OUT)

Clean = Callable[[str], str]


class Pick(Struct):
    """A turn that is carried: whole, and as it will stand."""

    whole: Turn
    turn: Turn
    spared: int
    """How many of its uses keep their results whole, the last ones; -1 for all."""
    weight: int


def weight(turn: Turn, counter: Counter) -> int:
    """How many tokens a turn is, with what is put around it."""
    texts = [turn.text]
    for use in turn.uses:
        texts += (use.tool, msgspec.json.encode(use.arguments).decode(), use.result)
    return counter.count("\n".join(texts)) + PER_TURN + PER_USE * len(turn.uses)


def fit(
    turns: Sequence[Turn],
    room: int,
    counter: Counter,
    *,
    whole_results: bool,
    clean: Clean | None = None,
) -> tuple[tuple[Turn, ...], int]:
    """The newest turns within a room of tokens, and how many older ones there were. With `clean`, without secrets."""
    picks = _newest(turns, room, counter, whole_results)
    opening = _make_room(turns, picks, room, counter, None)
    if clean is not None:
        # What stands in the place of a secret may be longer.
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
    """What stands before the turns that are carried. The oldest of these go until there is room for it."""
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
    """What stands before the first of the turns that are carried, if that is the agent's."""
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
    """The turn with all but the last results shortened; `whole` is what it was made of."""
    count = 0 if spared < 0 else max(0, len(turn.uses) - spared)
    if not any(len(use.result) > LONGEST_RESULT for use in turn.uses[:count]):
        return turn
    short: list[ToolUse] = []
    for use, known in zip(turn.uses[:count], whole.uses, strict=False):
        result = shortened(use.result, len(known.result), margin)
        short.append(use if result is use.result else msgspec.structs.replace(use, result=result))
    return msgspec.structs.replace(turn, uses=(*short, *turn.uses[count:]))


def shortened(text: str, length: int = 0, margin: int = 0) -> str:
    """The beginning and the end of a long text, with a mark that says how much is missing of the `length` that it
    had. No word is cut in two. With a margin, the end is so much longer."""
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
