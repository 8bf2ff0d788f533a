"""A fact: something that happened or was said, with its current value and its source."""

from __future__ import annotations

from segue.model.transcript import Origin
from segue.model.value import Hash, Value


class Fact(Value, frozen=True):
    """Something that happened or was said, with its current value and the entry that shows it."""

    kind: str
    subject: str
    value: str
    entry: str
    origin: Origin
    n: int = 0
    """How many entries came before the one that shows it."""
    note: str = ""
    """What belongs to it: a reason, an older name, the line of an error."""
    text: str = ""
    """How it was put, where the subject is only what tells it apart: a command as it was run."""
    hash: Hash | None = None
    """Of a file: its content, where that can be told from the transcript alone."""
    weight: float = 0.0
    """How much it was used, and how lately: what was used is used again."""
