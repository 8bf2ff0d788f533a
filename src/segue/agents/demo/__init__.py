"""The demonstration agent: small, shipped with Segue, with no model behind it.

It keeps transcripts as JSON lines, one entry each, and is started like any other agent: as a program
of its own (`answer.py`) that is given a brief and knows nothing else.
"""

from __future__ import annotations

from segue.model import Agent

AGENT = Agent(name="demo", title="Demonstration agent", vendor="none", program="", tested="1")

CAPABILITIES = {
    "find": "reader", "recognise": "reader", "read": "reader",
    "program": "target", "command": "target", "new_id": "target", "discard": "target",
    "acts": "tool_calls"
}  # fmt: skip
