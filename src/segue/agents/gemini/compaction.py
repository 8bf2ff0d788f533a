"""What Gemini CLI takes back: everything from the message that the user went back to."""

from __future__ import annotations

from segue.agents.gemini.messages import plain_id
from segue.conversation import Kept
from segue.model import Entry


def kept(entry: Entry) -> Kept | None:
    return Kept(until=plain_id(entry.text)) if entry.tool == "$rewindTo" and entry.text else None
