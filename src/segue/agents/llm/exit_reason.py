"""Why a headless run with a model of the `llm` library ended. The model's text goes to standard output;
Segue's one line on standard error holds the error, in the provider's or the plugin's words."""

from __future__ import annotations

from segue.agents.shared import exit_reason
from segue.base.clock import Moment
from segue.model.exit_reason import Output, Stop


def stop_of(output: Output, now: Moment) -> Stop | None:
    if not output.exit_code or output.exit_code < 0:
        return None
    lines = [line for line in exit_reason.lines_of(output.stderr) if line.strip()]
    return exit_reason.stop_of_provider(lines[-1].partition(" Next: ")[0], now) if lines else None
