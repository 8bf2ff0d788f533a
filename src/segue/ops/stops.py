"""Why a program stopped, by what it printed: the agent's own file reads that, and secrets are taken out of it."""

from __future__ import annotations

from segue import agents
from segue.ops import redaction
from segue.ops.children import End, Ended
from segue.ops.desk import Desk
from segue.stop import Output, Stop


def told_by(desk: Desk, agent: str, output: Output) -> Stop | None:
    """The trouble that an agent's program tells of; None where it tells of none."""
    tells = agents.offers(agent, "stop_of")
    stop: Stop | None = tells(output, desk.clock()) if tells else None
    return Stop(why=stop.why, said=clean(desk, stop.said), limit=stop.limit) if stop else None


def clean(desk: Desk, said: str) -> str:
    """A program may quote a key in what it says."""
    return redaction.redact(desk, said).text if said else ""


def is_in_trouble(desk: Desk, agent: str, ended: Ended | None) -> bool:
    """Whether a program that ended by itself says that it did not come to the end of its work."""
    if ended is None or ended.by is not End.ITSELF or ended.exit_code in (0, None):
        return False
    return told_by(desk, agent, ended.output) is not None
