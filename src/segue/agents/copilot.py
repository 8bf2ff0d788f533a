"""Copilot CLI."""

from segue.model import Agent

AGENT = Agent(name="copilot", title="Copilot CLI", vendor="github", program="copilot", tested="")
