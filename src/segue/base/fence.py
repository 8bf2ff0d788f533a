"""Fence around foreign text: it is passed on as data and cannot pose as anything else. Pure.

A model that reads a brief follows instructions. So everything that no person typed stands between two marks with a
nonce: a keyed hash of the ids of the entries in it. The nonce is the same for the same brief, and nobody who wrote a
web page or a file name weeks before can guess it. Inside, a visible mark breaks up everything that models and
terminals treat as control text; the rest is unchanged.

In a person's own words, only invisible characters and imitations of the brief's structure are changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import blake2b

from msgspec import Struct

from segue.errors import BadInput

MARK = "·"
"""Breaks up control text. It is harmless and visible."""
OPEN, CLOSE = "<<<data ", " data>>>"
NONCE_BYTES = 6
"""Guessing a nonce takes 280,000,000,000,000 tries, and each try needs its own brief."""


class Part(Struct, frozen=True):
    """A part of a brief, inside or outside a fence."""

    is_data: bool
    lines: tuple[str, ...]


def nonce(key: bytes, content: str) -> str:
    """Nonce of a content: always the same for it, and not predictable without the key."""
    hashed = blake2b(key=key, digest_size=NONCE_BYTES, person=b"fence")
    hashed.update(content.encode("utf-8", "surrogatepass"))
    return hashed.hexdigest()


def fenced(lines: Iterable[str], nonce: str) -> str:
    inner = [line.replace(nonce, MARK * len(nonce)) for line in "\n".join(lines).split("\n")]
    return "\n".join([OPEN + nonce, *inner, nonce + CLOSE])


def unfenced(text: str, nonce: str) -> tuple[Part, ...]:
    """Split a text at its fences. Raises BadInput if the fences do not match or the nonce appears anywhere else:
    then someone tampered with the text."""
    parts: list[Part] = []
    lines: list[str] = []
    is_data = False
    for line in text.split("\n"):
        if line == (nonce + CLOSE if is_data else OPEN + nonce):
            if is_data or lines:
                parts.append(Part(is_data, tuple(lines)))
            lines, is_data = [], not is_data
        elif nonce in line:
            raise _broken()
        else:
            lines.append(line)
    if is_data:
        raise _broken()
    return (*parts, Part(False, tuple(lines))) if lines else tuple(parts)


def _broken() -> BadInput:
    return BadInput(
        what="The fences of this brief do not match: it was changed after it was packed.",
        next="Pack it again: segue pack",
    )


# Neutralised text

ROLES = "human|assistant|system|user|developer|model|tool|ai"
TAGS = (
    rf"(?:{ROLES})(?:[_-]?(?:reminder|prompt|message|instructions?|turn|context|input|query))?"
    r"|(?:tool|function)[_-]?(?:uses?|calls?|results?|response|output|input|declarations?)|tools|functions"
    r"|invoke|parameters?|think|thinking|thought|reasoning|scratchpad|instructions?|important|override"
    r"|(?:start|end)_of_(?:turn|text|image)|begin_of_text|bos|eos|im_start|im_end|im_sep|s"
    r"|(?:local-)?command-(?:name|message|args|stdout|stderr|contents)|bash-(?:input|stdout|stderr)"
    r"|[a-z-]{1,30}-hook|(?:task|agent|background-task)-notification|new-diagnostics|persisted-output|local-command-caveat"
    r"|(?:teammate|cross-session)-message|channel|user-memory-input|ide_(?:selection|opened_file|diagnostics)"
    r"|environment[_-](?:context|details)|permissions|turn_aborted"
)
"""Tags in which agents and models wrap their own text."""
WITHIN_DATA = (
    # <system-reminder>, </tool_use>, <ns:invoke name="x">: also without their end, and with spaces inside.
    rf"<(?=\s{{0,3}}/?\s{{0,3}}(?:antml:|(?:[a-z]{{1,12}}:)?(?:{TAGS})(?![\w-])))",
    # <|im_start|>, also with the wide bars that some models use.
    r"<(?=[|｜][^<>|｜\n]{1,60}[|｜]>)",
    # [INST], [/TOOL_RESULTS], <<SYS>>.
    r"\[(?=/?(?:INST|SYS|SYSTEM|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS?|TOOL_RESULTS?|TOOL_CONTENT|USER|ASSISTANT"
    r"|gMASK|sMASK|THINK)\])",
    r"<(?=</?SYS>>)",
)
IN_TAG = re.compile("|".join(WITHIN_DATA), re.IGNORECASE | re.MULTILINE)
TURN = re.compile(rf"^([ \t>*_]{{0,8}}(?:{ROLES})[ \t*_]{{0,4}})([:：])", re.IGNORECASE | re.MULTILINE)
"""The start of a turn: 'Human:', '**Assistant:**'."""
STRUCTURE = re.compile(
    r"^([ \t]{0,3})(?=#{1,6}(?:[ \t]|$)|```|~~~)"
    r"|(?<=<<<)(?=[ \t]*data\b)|(?<=\bdata)(?=[ \t]*>{3})",
    re.IGNORECASE | re.MULTILINE,
)
"""The structure of a brief: headings, code fences, the marks of its data."""
SIGNS = ("#", "```", "~~~", "<<<", ">>>")
"""Every such structure contains one of these, and few other texts do."""

COLOUR = re.compile(r"\x1b\[[0-9;:]{0,40}m")
SINGLE = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufff9-\ufffb"
HIDDEN = (
    r"\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d"
    r"\ufeff\uffa0\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
UNSEEN = re.compile(rf"\r\n|(?:(?!\r\n)[{SINGLE}])+|[{HIDDEN}]+")
ANY_UNSEEN = re.compile(f"[{SINGLE}{HIDDEN}]")
"""The same as UNSEEN, as a quick check: most texts have no such character."""
JOINERS = "\u200c\u200d"
"""Needed between letters of many scripts and inside emoji; next to ASCII letters they only hide something."""
FEW = 8


def neutral(text: str, *, is_human: bool = False) -> str:
    """Text that a model reads and no program obeys. Neutral text is returned unchanged."""
    if ANY_UNSEEN.search(text):
        text = UNSEEN.sub(_seen, COLOUR.sub("", text))
    if not is_human:
        text = IN_TAG.sub(lambda found: found.group() + MARK, text)
        text = TURN.sub(rf"\1{MARK}\2", text)
    if any(sign in text for sign in SIGNS):
        text = STRUCTURE.sub(lambda found: (found.group(1) or "") + MARK, text)
    return text


def restored(text: str) -> str:
    """Remove the marks from a neutral text. Characters that were made visible stay visible."""
    return re.sub(rf"(?<=[<\[]){MARK}|{MARK}(?=[:：#`~])|(?<=data){MARK}", "", text, flags=re.IGNORECASE)


def one_line(text: str, limit: int) -> str:
    """A name, title or command on one line, neutral, with at most `limit` characters."""
    text = neutral(" ".join(text[: 8 * limit + 100].split()))
    return text if len(text) <= limit else text[: max(0, limit - 1)].rstrip() + "…"


def _seen(found: re.Match[str]) -> str:
    hidden = found.group()
    if hidden == "\r\n":
        return "\n"
    if len(hidden) == 1 and hidden in JOINERS:
        around = found.string[found.start() - 1 : found.start()], found.string[found.end() : found.end() + 1]
        if not any(char.isascii() for char in around):
            return hidden
    if len(hidden) > FEW:
        return f"⟨{len(hidden)} hidden characters⟩"
    return "".join(_picture(char) for char in hidden)


def _picture(char: str) -> str:
    """Visible form of a control character, such as '␛' for escape."""
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"
