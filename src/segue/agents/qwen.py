"""Qwen Code."""

from segue.model import Agent

AGENT = Agent(name="qwen", title="Qwen Code", vendor="alibaba", program="qwen", tested="")
