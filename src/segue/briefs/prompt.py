"""The first message to a target: the brief, and what was found out since it was packed. Pure.

It is the newest message that the target reads. Its first line names the handoff, so that Segue can find the message in
the target's own transcript.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from segue.base import fence
from segue.briefs import render
from segue.model import Brief, Section
from segue.model.brief_format import ABOVE, CLOSING, DRIFT, HEADING, LOADED, MISSED, POINTER, REASON

LARGEST_FILE = 40_000
"""At most this many characters of an instruction file are passed."""


class Extra(Struct, frozen=True):
    """What is passed together with a brief."""

    drift: tuple[str, ...] = ()
    """How the folder differs from the brief."""
    instructions: tuple[tuple[str, str], ...] = ()
    """Name and content of the instruction files that the target does not load by itself."""
    missing: tuple[Section, ...] = ()
    """What a copy of the target did not know when it was asked."""
    reason: str = ""
    """Why the user hands the work over, in their words."""
    is_above: bool = False
    """Whether the target has the conversation itself."""


def marker(id: str) -> str:
    """The first line of the message: a transcript that contains it has received the handoff."""
    return f"{HEADING} {id}"


def compose(id: str, brief: Brief, extra: Extra, *, closing: str = CLOSING) -> str:
    """The whole message. Everything but the user's words is inside a fence."""
    text = render.render(brief).removeprefix(HEADING).strip("\n")
    parts = [f"{marker(id)}\n{text}"]
    if extra.reason:
        reason = fence.neutral(extra.reason, is_human=True).replace(
            brief.nonce, fence.MARK * len(brief.nonce)
        )
        parts.append(f"{REASON} {' '.join(reason.split())}")
    if extra.is_above:
        parts.append(ABOVE)
    if extra.missing:
        parts.append(f"{MISSED}\n{render.render_sections(extra.missing, brief.nonce)}".strip("\n"))
    if extra.drift:
        lines = [f"- {render.indented(line)}" for line in extra.drift]
        parts.append(f"{DRIFT}\n" + fence.fenced(lines, brief.nonce))
    for name, content in extra.instructions:
        lines = [f"{fence.one_line(name, 120)}:", *render.indented(content[:LARGEST_FILE]).split("\n")]
        parts.append(f"{LOADED}\n" + fence.fenced(lines, brief.nonce))
    return "\n\n".join([*parts, closing]) + "\n"


def pointing_to(id: str, file: Path) -> str:
    """The message that names the file to read, where the whole is too long for a message."""
    return f"{marker(id)}\n{POINTER.format(file=file)}\n"
