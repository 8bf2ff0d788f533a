"""What is said to the target when it is started: the brief, and what was found out since it was packed. Pure.

It is the newest message that the target reads. Its first line names the handoff, so that what arrived can be told
from everything else in the target's own transcript.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from segue.base import fence
from segue.briefs import render
from segue.model import Brief, Section

ABOVE = "The conversation so far is above, as the agent before you kept it."
LOADED = "A file with instructions for this project, which the agent before you had loaded and you have not:"
MISSED = "Note well: a copy of you that was given all of this did not know the following."
CLOSING = "Say in a sentence or two where the work stands, then go on with the next step. Do not do again what is done."
GO_ON = "Go on with the work where you left off."
"""What is said to a target that has the work and stopped in the middle of it."""
LARGEST_FILE = 40_000
"""Of a file with instructions, how many characters travel along."""


class Extra(Struct, frozen=True):
    """What goes along with a brief."""

    drift: tuple[str, ...] = ()
    """How the folder differs from what the brief says of it."""
    instructions: tuple[tuple[str, str], ...] = ()
    """Files with instructions that the target does not load by itself: name and content."""
    missing: tuple[Section, ...] = ()
    """What a copy of the target did not know when it was asked."""
    reason: str = ""
    """Why the person hands the work over, in their words."""
    is_above: bool = False
    """Whether the target has the conversation itself."""


def marker(id: str) -> str:
    """The first line of what is said: whatever holds it has got the handoff."""
    return f"{render.HEADING} {id}"


def compose(id: str, brief: Brief, extra: Extra, *, closing: str = CLOSING) -> str:
    """The whole of it. Everything that is no person's words stands inside a fence."""
    text = render.render(brief).removeprefix(render.HEADING).strip("\n")
    parts = [f"{marker(id)}\n{text}"]
    if extra.reason:
        said = fence.neutral(extra.reason, is_human=True).replace(brief.nonce, fence.MARK * len(brief.nonce))
        parts.append(f"Why the person hands this to you: {' '.join(said.split())}")
    if extra.is_above:
        parts.append(ABOVE)
    if extra.missing:
        parts.append(f"{MISSED}\n{render.render_sections(extra.missing, brief.nonce)}".strip("\n"))
    if extra.drift:
        lines = [f"- {_item(line)}" for line in extra.drift]
        parts.append("The folder has changed since:\n" + fence.fenced(lines, brief.nonce))
    for name, content in extra.instructions:
        lines = [f"{fence.one_line(name, 120)}:", *_item(content[:LARGEST_FILE]).split("\n")]
        parts.append(f"{LOADED}\n" + fence.fenced(lines, brief.nonce))
    return "\n\n".join([*parts, closing]) + "\n"


def _item(text: str) -> str:
    return "\n  ".join(fence.neutral(text).splitlines())


def pointing_to(id: str, file: Path) -> str:
    """What is said where the whole is too long to be said: where it can be read."""
    return (
        f"{marker(id)}\nRead {file} first, all of it: it hands this work to you. Then go on with the work.\n"
    )
