"""pi: an append-only tree of entries, one file per session, with the price of every answer.

Entries name their parents, so going back and branching need no new file. In the first version of the format
they had no ids and followed one another. A fork copies a branch into a new file, in the first version with
new ids: answers are identified by their time and their figures.
"""

from __future__ import annotations

from segue.model import Agent

AGENT = Agent(name="pi", title="pi", vendor="pi", program="pi", tested="")

CAPABILITIES = {
    "find": "reader", "recognise": "reader", "read": "reader",
    "kept": "compaction"
}  # fmt: skip
