"""Claude Code."""

from segue.model import Agent

AGENT = Agent(name="claude", title="Claude Code", vendor="anthropic", program="claude", tested="2.1.325")
