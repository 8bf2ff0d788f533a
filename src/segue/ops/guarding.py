"""What an agent is told that asks before it changes something. Little is loaded for it: the agent waits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from segue import agents, guard
from segue.clock import Moment

HANDOFF = "SEGUE_HANDOFF"
"""The variable that tells an agent's hooks which handoff it works for."""


def answer(agent: str, data: Path, given: bytes, env: Mapping[str, str], now: Moment) -> bytes:
    """What the hook says; nothing if the agent may go on. `given` is what the agent told the hook."""
    for path in guard.unreadable(data):
        guard.note_failure(data, ValueError(f"{path} cannot be read, and holds nobody up"), now)
    held = guard.notes(data)
    if any(one.expires <= now for one in held):
        guard.sweep(data, now)  # with none left, the next hook ends at once
    offered = agents.offers(agent, "hooks")
    if not held or offered is None:
        return b""
    hooks = offered()
    record = json.loads(given)
    if not isinstance(record, dict):
        raise ValueError("what the agent gave is no JSON object")
    attempt = hooks.attempt_of(record)
    if attempt is None:
        return b""
    reason = guard.refusal(attempt, held, handoff=env.get(HANDOFF, ""), now=now)
    return json.dumps(hooks.refuse(reason)).encode() if reason else b""
