"""Why a headless run of OpenCode ended: by its stream of JSON lines and by its log on standard error.

An error that it considers final ends the run with a record of the provider's answer. After any other error it
waits and retries without end, and prints nothing on standard output. Only the log says so, so it is started
with its log on. A conversation that does not fit is compacted and retried, without end if that does not help.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from segue.agents.opencode import limits
from segue.agents.shared import exit_reason
from segue.agents.shared.transcripts import limit_text
from segue.agents.shared.transcripts.reader import dict_of, moment_of, text_of
from segue.base.clock import Moment
from segue.model import Limit
from segue.model.exit_reason import Output, Stop, Why

MOST_OVERFLOWS = 3
"""After this many without progress in between, compacting does not help."""
MOST_FAILURES = 6
"""After this many in a row, which is more than a minute, the run is ended."""
OWN_FAULT = "Unexpected server error"
"""Its inner server's message for any unforeseen error; the log has the error itself."""
UNNAMED = "?"
LONGEST_LINE = 20_000

_KINDS = {
    "ProviderAuthError": Why.REFUSED,
    "ProviderModelNotFoundError": Why.REFUSED,
    "MessageAbortedError": Why.ASKED,
}
"""What the program calls its errors, where there is no status."""
_WORK = ("text", "tool_use", "step_finish", "reasoning")

_FIELD = re.compile(r'([\w.]+)=("(?:[^"\\]|\\.)*"|\S+)')
_NAME = re.compile(r"^\w*Error: ")


def stop_of(output: Output, now: Moment) -> Stop | None:
    error: dict[str, Any] = {}
    overflow: dict[str, Any] = {}
    overflows, worked_at, is_begun = 0, "", False
    for record in exit_reason.records(output.stdout):
        kind, is_begun = record.get("type"), True
        error = dict_of(record.get("error")) if kind == "error" else {}
        if error.get("name") == limits.OVERFLOW:
            overflow, overflows = error, overflows + 1
        elif kind == "tool_use":
            overflows = 0
        worked_at = moment_of(record.get("timestamp")) or worked_at if kind in _WORK else worked_at
    is_over = output.exit_code is not None
    if overflows >= MOST_OVERFLOWS and output.exit_code != 0:
        return _stop(overflow, now)
    if error and (is_over or error.get("name") != limits.OVERFLOW):
        return _stop(error, now, output.stderr)
    if output.exit_code != 0 and (waiting := _waiting(output.stderr, worked_at, now, is_over=is_over)):
        return waiting
    return None if is_begun else exit_reason.stop_without_records(output)


def _stop(error: dict[str, Any], now: Moment, log: str = "") -> Stop:
    name, data = text_of(error.get("name")), dict_of(error.get("data"))
    said = text_of(data.get("message")) or text_of(error.get("message")) or name
    body = text_of(data.get("responseBody"))[: exit_reason.WORDS_LOOKED_AT]
    if limit := limits.limit_of(error, now, UNNAMED):
        stop = exit_reason.stop_at_limit(_completed(limit, said, now), f"{said}\n{body}")
        return Stop(why=stop.why, said=exit_reason.one_line(said), limit=stop.limit)
    status = exit_reason.status_of(data.get("statusCode"))
    if said.startswith(OWN_FAULT):
        broke = [line["error"] for line in _logged(log, "failed") if "error" in line]
        return exit_reason.stop_at_error(broke[-1]) if broke else Stop(why=Why.CRASHED, said=said)
    why = _KINDS.get(name) if status is None else exit_reason.why_of(f"{said}\n{body}", status)
    return Stop(why=why, said=exit_reason.one_line(said)) if why else exit_reason.stop_at_error(said, status)


def _completed(limit: Limit, said: str, now: Moment) -> Limit:
    """A limit with the end that its text gives, if no field does. The stream does not name the model."""
    resets_at = limit.resets_at or limit_text.end_of(said, now, limit.window)
    return msgspec.structs.replace(limit, resets_at=resets_at, model="")


def _waiting(log: str, worked_at: str, now: Moment, *, is_over: bool) -> Stop | None:
    """What it waits for, or waited for when it was ended: the failures since its last progress. During a run,
    a limit is reported at once, because waiting is useless; other trouble after enough attempts."""
    failed = [
        line
        for line in _logged(log, "stream error")
        # A small model writes the title at the same time.
        if line.get("small") == "false" and (moment_of(line["timestamp"]) or worked_at) >= worked_at
    ]
    if not failed:
        return None
    said = _NAME.sub("", failed[-1].get("error.error", ""))
    stop = exit_reason.stop_of_provider(said, now, failed[-1].get("modelID", ""))
    if stop.why is Why.CRASHED:  # it retries only what it considers temporary
        stop = Stop(why=Why.OVERLOADED, said=stop.said)
    return stop if is_over or stop.why is Why.LIMIT or len(failed) >= MOST_FAILURES else None


def _logged(log: str, message: str) -> Iterator[dict[str, str]]:
    """The log lines of one kind of error, as names and values."""
    for line in exit_reason.lines_of(log):
        if line.startswith("timestamp=") and " level=ERROR " in line[:100]:
            fields = {name: value.strip('"') for name, value in _FIELD.findall(line[:LONGEST_LINE])}
            if fields.get("message") == message:
                yield {name: value.replace(r"\"", '"') for name, value in fields.items()}
