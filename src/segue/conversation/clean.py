"""Removal of secrets and invisible characters from a conversation.

All texts are scanned as one: a secret found in one place is replaced everywhere, and one scan is faster than
thousands. Arguments of tools are scanned as JSON because names stand before values there.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence

import msgspec

from segue.base import fence
from segue.conversation.pieces import fit_name
from segue.conversation.turns import arguments_of, changed
from segue.model.conversation import Conversation, Turn

ESCAPED = re.compile(r"\\u00[01]|\\[bfr]")
"""Escaped control characters in JSON."""
APART = "\0\0"
"""Separator between two texts. No text contains it because it is invisible."""
BORDER = re.compile(f"{APART}\0*")
KEY = "-----BEGIN "
FAR = APART + "\0" * 20_000
"""Separator after a text that may contain the beginning of a key: the scan for a key's end does not reach across
it."""


def cleaned(turns: Sequence[Turn], clean: Callable[[str], str]) -> tuple[Turn, ...]:
    """Clean the texts of all turns and make every character visible. Line breaks and tabs stay."""
    texts = [text for turn in turns for text in _texts(turn)]
    found = iter(_clean_all([visible(text) for text in texts], clean))
    return tuple(_with_texts(turn, found) for turn in turns)


def text_of(conversation: Conversation) -> str:
    """All text of a conversation, for a last scan."""
    texts = (
        conversation.title,
        conversation.branch,
        *(text for turn in conversation.turns for text in _texts(turn)),
    )
    return f"\n{APART}\n".join(texts)


def _texts(turn: Turn) -> Iterator[str]:
    yield turn.text
    for use in turn.uses:
        yield use.tool
        yield _as_json(use.arguments)
        yield use.result


def _as_json(arguments: dict[str, object]) -> str:
    text = msgspec.json.encode(arguments).decode()
    if ESCAPED.search(text):
        text = msgspec.json.encode(changed(arguments, visible)).decode()
    return text


def _with_texts(turn: Turn, texts: Iterator[str]) -> Turn:
    text = next(texts)
    uses = []
    for use in turn.uses:
        tool, arguments, result = next(texts), next(texts), next(texts)
        if tool != use.tool:
            use = msgspec.structs.replace(use, tool=fit_name(tool, "tool"))
        if arguments != msgspec.json.encode(use.arguments).decode():
            use = msgspec.structs.replace(use, arguments=arguments_of(arguments))
        uses.append(use if result == use.result else msgspec.structs.replace(use, result=result))
    return Turn(speaker=turn.speaker, text=text, uses=tuple(uses), at=turn.at, model=turn.model)


def _clean_all(texts: list[str], clean: Callable[[str], str]) -> list[str]:
    if len(texts) < 2:
        return [clean(text) for text in texts]
    pieces = [texts[0]]
    for before, text in itertools.pairwise(texts):
        pieces += ["\n", FAR if KEY in before else APART, "\n", text]
    found = BORDER.split(clean("".join(pieces)))
    if len(found) == len(texts):
        last = len(found) - 1
        # A truncated key extends to the line break before the separator.
        without = [text.removesuffix("\n") if n < last else text for n, text in enumerate(found)]
        return [text.removeprefix("\n") if n else text for n, text in enumerate(without)]
    # A secret reached from one text into the next, so scan both halves separately.
    half = len(texts) // 2
    return _clean_all(texts[:half], clean) + _clean_all(texts[half:], clean)


def visible(text: str) -> str:
    """Make every character visible; headings and fences stay."""
    if not fence.ANY_UNSEEN.search(text):
        return text
    return fence.UNSEEN.sub(_shown, fence.COLOUR.sub("", text))


def _shown(found: re.Match[str]) -> str:
    start, end = found.span()
    around = found.string[start - 1 : start], found.string[end : end + 1]
    if found.group() in fence.JOINERS and not any(char.isascii() for char in around):
        return found.group()
    return fence.neutral(found.group(), is_human=True)
