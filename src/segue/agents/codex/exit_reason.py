"""Why a headless run of Codex stopped, read from its stream of JSON lines.

A failed turn is reported (`turn.failed`) with the message that a user would see. Before it, each retry is reported as
an error too. Without any network Codex retries forever. The stream does not report limits that are not hit.
"""

from __future__ import annotations

from typing import Any

from segue.agents.codex import usage
from segue.agents.shared import exit_reason
from segue.agents.shared.transcripts.reader import dict_of, text_of
from segue.base.clock import Moment
from segue.model.exit_reason import Output, Stop

RETRY = "Reconnecting..."
MOST_RETRIES = 10
"""After more retries in a row it will not stop by itself: where Codex counts them, it makes fewer."""
_GOOD = ("turn.started", "turn.completed", "item.started", "item.updated", "item.completed")


def stop_of(output: Output, now: Moment) -> Stop | None:
    said, tries, is_begun = "", 0, False
    for record in exit_reason.records(output.stdout):
        kind = text_of(record.get("type"))
        if kind in ("error", "turn.failed"):
            said = _said(record) or said
            tries = tries + 1 if said.startswith(RETRY) else 0
        elif kind in _GOOD and dict_of(record.get("item")).get("type") != "error":
            said, tries = "", 0  # an item of type "error" is a warning
        is_begun = is_begun or kind == "thread.started" or kind in _GOOD
    is_under_way = output.exit_code is None and 0 < tries < MOST_RETRIES
    if said and not is_under_way:
        return _stop(said, now)
    return None if is_begun or said else exit_reason.stop_without_records(output)


def _said(record: dict[str, Any]) -> str:
    return text_of(dict_of(record.get("error")).get("message")) or text_of(record.get("message"))


def _stop(said: str, now: Moment) -> Stop:
    hit = usage.hit({}, {"message": said}, now)
    return exit_reason.stop_at_limit(hit[-1], said) if hit else exit_reason.stop_at_error(said)
