"""Qwen Code: a log of records that name their parents, with messages made of Gemini's parts.

Older versions wrote Gemini CLI's format; those transcripts are read with its reader. A background sub-agent
has its own file, in a folder named after the session that started it.
"""

from __future__ import annotations

from segue.model import Agent

AGENT = Agent(name="qwen", title="Qwen Code", vendor="alibaba", program="qwen", tested="", families=("qwen",))

CAPABILITIES = {
    "find": "reader", "recognise": "reader", "read": "reader",
    "acts": "tool_calls", "answer": "tool_calls"
}  # fmt: skip
