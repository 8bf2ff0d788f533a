"""Gemini CLI."""

from segue.model import Agent

AGENT = Agent(name="gemini", title="Gemini CLI", vendor="google", program="gemini", tested="0.61.0")
