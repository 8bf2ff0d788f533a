"""Models of the `llm` library and its plugins: for rewriting prose, and for work that needs no tools.

The library keeps no transcripts that Segue could resume. So the program that talks to a model is Segue's own
(`chat.py`), and so are its transcripts: one file of entries per conversation, in Segue's data folder.
"""

from __future__ import annotations

from segue.model import Agent

AGENT = Agent(
    name="llm", title="llm", vendor="llm", program="", tested="0.36", families=(), context_window=32_768
)

CAPABILITIES = {
    "find": "reader", "recognise": "reader", "read": "reader",
    "command": "target", "new_id": "target", "write": "target", "discard": "target",
    "program": "target", "spoken": "target", "check_model": "target",
    "vendor_of": "vendor",
    "stop_of": "exit_reason",
    "ask": "rewrite", "rewriter": "rewrite"
}  # fmt: skip
