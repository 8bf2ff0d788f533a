"""OpenCode."""

from segue.model import Agent

AGENT = Agent(name="opencode", title="OpenCode", vendor="opencode", program="opencode", tested="1.18.33")
