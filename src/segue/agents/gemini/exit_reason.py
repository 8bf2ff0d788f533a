"""Why a headless run of Gemini CLI ended: by the result at the end of its stream, and by its exit code.

The exit code is the service's status modulo 256: 429 becomes 173. While it waits for the end of a quota, for
hours if necessary, there is no result; only standard error says so.
"""

from __future__ import annotations

import re
from typing import Any

from segue.agents.gemini import limits
from segue.agents.shared import exit_reason
from segue.agents.shared.transcripts.reader import dict_of, text_of
from segue.base.clock import Moment
from segue.model.exit_reason import Output, Stop, Why

EXITS = {41: Why.REFUSED, 52: Why.REFUSED, 53: Why.ASKED}
"""Exit codes of the program itself: not signed in, invalid settings, the limit on turns reached."""
CODES = 256

_API_ERROR = re.compile(r"\[API Error: (.*?)\](?:\n|$)", re.DOTALL)
_WAITS = re.compile(
    r"^(?:Attempt \d+ failed|Error when talking to Gemini API)\b[^:\n]*:? ?(.*?)(?:\.? Retrying after \d+ms.*)?$",
    re.MULTILINE,
)


def stop_of(output: Output, now: Moment) -> Stop | None:
    result: dict[str, Any] = {}
    model, is_begun = "", False
    for record in exit_reason.records(output.stdout):
        is_begun = True
        kind = record.get("type")
        result = record if kind == "result" else {}
        model = text_of(record.get("model")) or model if kind == "init" else model
    if result:
        return _stop(result, output.exit_code, model, now) if result.get("status") == "error" else None
    if output.exit_code in EXITS:
        before = exit_reason.stop_without_records(output)
        return Stop(why=EXITS[output.exit_code], said=before.said if before else "")
    return _waiting(output.stderr, model, now) if is_begun else exit_reason.stop_without_records(output)


def _stop(result: dict[str, Any], exit_code: int | None, model: str, now: Moment) -> Stop:
    told = text_of(dict_of(result.get("error")).get("message"))
    quoted = _API_ERROR.match(told)
    said = quoted[1] if quoted else told
    models = dict_of(dict_of(result.get("stats")).get("models"))
    if not model and len(models) == 1:
        model = next(iter(models))
    status = _status(exit_code)
    is_fault = status is not None and status != 429
    if not is_fault and (limit := limits.limit_of_error(said, now, model)):
        return exit_reason.stop_at_limit(limit, said)
    if exit_code in EXITS:
        return Stop(why=EXITS[exit_code], said=exit_reason.one_line(said))
    return exit_reason.stop_at_error(said, status)


def _status(exit_code: int | None) -> int | None:
    """The service's status, if the exit code holds one. The program's own codes are small."""
    return exit_reason.status_of(exit_code + CODES) if exit_code is not None else None


def _waiting(stderr: str, model: str, now: Moment) -> Stop | None:
    """The quota that the program waits for. Shorter waits are skipped: they may be long over."""
    lines = _WAITS.findall(stderr[-exit_reason.LOOKED_AT :])
    limit = limits.limit_of_error(lines[-1], now, model) if lines else None
    if limit is None or limit.resets_at is None:
        return None
    stop = exit_reason.stop_at_limit(limit, lines[-1])
    return stop if stop.why is Why.LIMIT else None
