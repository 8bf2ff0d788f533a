"""Copilot CLI keeps a session as a file of events, each with an id and the id of the one before it.

It tells whose words a message is, every call and its result, sub-agents (in the same file), and the person's
answers to questions. Of tokens it tells what each call used since about 1.0.100. Before, it tells with each
answer only what came out; what went in, and what was cached, only when the program ends, as a sum for each
model. So an older session that is still open, that crashed, or that was left by `/new`, shows output alone,
and none of its answers shows how full the context was. It tells of a limit when one is hit, with its kind and
seldom with its end; of how much of it is used, it tells in the record of a call, if at all. What it costs it
tells in units of its own, never in dollars.
"""

from __future__ import annotations

from segue.model import Agent

AGENT = Agent(name="copilot", title="Copilot CLI", vendor="github", program="copilot", tested="")

CAPABILITIES = {
    "find": "reader", "recognise": "reader", "read": "reader",
    "acts": "tool_calls", "answer": "tool_calls", "going": "tool_calls"
}  # fmt: skip
