"""Ollama serves models, mostly on this machine, and keeps no transcripts. Segue starts an agent program with
one of its models: the first of `CARRIERS` that is installed. The transcript is that program's.

A missing model is not downloaded: that can take hours. Ollama is not always local: its server may be
elsewhere, and models with `cloud` in their tag run at ollama.com; see `vendor_of`.
"""

from __future__ import annotations

from segue.model import Agent

AGENT = Agent(name="ollama", title="Ollama", vendor="local", program="ollama", context_window=32_768)
CARRIERS = ("codex", "opencode", "claude")
"""Agent programs that can use a model of Ollama, best first."""

CAPABILITIES = {
    "command": "target", "program": "target", "keeps_transcripts_as": "target",
    "check_model": "target", "vendor_of": "target", "stop_of": "target"
}  # fmt: skip
