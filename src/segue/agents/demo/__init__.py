"""The demo agent: small, shipped with Segue, without a model.

Its transcripts are JSON lines, one entry each. It is started like any other agent: as a separate program
(`answer.py`) that gets a brief and knows nothing else.
"""

from __future__ import annotations

from segue.model import Agent

AGENT = Agent(name="demo", title="Demonstration agent", vendor="none", program="", tested="1")

CAPABILITIES = {
    "find": "reader", "recognise": "reader", "read": "reader",
    "program": "target", "command": "target", "new_id": "target", "discard": "target",
    "acts": "tool_calls"
}  # fmt: skip
