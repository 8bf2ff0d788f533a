"""aider."""

from segue.model import Agent

AGENT = Agent(name="aider", title="aider", vendor="aider", program="aider", tested="")
