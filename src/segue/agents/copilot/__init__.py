"""Copilot CLI: a session is a file of events, each with an id and the id of the one before it.

Events say who wrote a message; they hold every call and its result, sub-agents (in the same file), and the user's
answers to questions.

Since about 1.0.100 the tokens of each call are recorded. Before, each answer has only its output; input and cached
tokens come only when the program ends, as a sum per model. So an older session that is still open, that crashed, or
that was left with `/new` shows output alone, and none of its answers shows how full the context was.

A limit is recorded when it is reached, with its kind and rarely with its end. Its used share is recorded with a call,
if at all. Costs are in units of its own, never in dollars.
"""

from __future__ import annotations

from segue.model import Agent

AGENT = Agent(name="copilot", title="Copilot CLI", vendor="github", program="copilot", tested="")

CAPABILITIES = {
    "find": "reader", "recognise": "reader", "read": "reader",
    "acts": "tool_calls", "answer": "tool_calls", "going": "tool_calls"
}  # fmt: skip
