"""Ollama serves models, mostly on this machine, and keeps no transcripts. Work goes to one of its models by starting
an agent program that is pointed at it, the first of `CARRIERS` that is installed; the transcript is that program's.

A model that is not there is not fetched: that can take hours, and nobody asked for it. Not all of Ollama is this
machine: its server may be another's, and models with `cloud` in their tag run at ollama.com; `vendor_of` tells.
"""

from __future__ import annotations

from segue.model import Agent

AGENT = Agent(name="ollama", title="Ollama", vendor="local", program="ollama", context_window=32_768)
CARRIERS = ("codex", "opencode", "claude")
"""The agent programs that can be pointed at a model of Ollama's, best first."""

CAPABILITIES = {
    "command": "target", "program": "target", "keeps_transcripts_as": "target",
    "check_model": "target", "vendor_of": "target", "stop_of": "target"
}  # fmt: skip
