"""pi."""

from segue.model import Agent

AGENT = Agent(name="pi", title="pi", vendor="pi", program="pi", tested="")
