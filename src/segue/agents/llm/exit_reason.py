"""How a headless run with a model of the `llm` library stopped. What the model says goes to standard output; what
stopped it is the one line of ours on standard error, with the words of the provider or the plugin in it."""

from __future__ import annotations

from segue.agents.shared import exit_reason
from segue.base.clock import Moment
from segue.model.exit_reason import Output, Stop


def stop_of(output: Output, now: Moment) -> Stop | None:
    if not output.exit_code or output.exit_code < 0:
        return None
    lines = [line for line in exit_reason.lines_of(output.stderr) if line.strip()]
    return exit_reason.stop_of_provider(lines[-1].partition(" Next: ")[0], now) if lines else None
