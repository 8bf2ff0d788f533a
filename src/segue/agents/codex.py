"""Codex."""

from segue.model import Agent

AGENT = Agent(name="codex", title="Codex", vendor="openai", program="codex", tested="0.166.0")
