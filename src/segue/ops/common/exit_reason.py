"""Why an agent's program ended, read from its output by the agent's own module, with secrets replaced."""

from __future__ import annotations

from segue import agents
from segue.agents.shared import exit_reason
from segue.model.exit_reason import Output, Stop, Why
from segue.ops.common import redaction
from segue.ops.common.desk import Desk
from segue.ops.common.process import End, Ended


def told_by(desk: Desk, agent: str, output: Output) -> Stop | None:
    """The error that an agent's program reported; None if there is none."""
    tells = agents.load(agent).stop_of
    stop: Stop | None = tells(output, desk.clock()) if tells else None
    return Stop(why=stop.why, said=clean(desk, stop.said), limit=stop.limit) if stop else None


CAUSES = {
    Why.LIMIT: "it is at its limit",
    Why.OVERLOADED: "its vendor cannot be reached or is overloaded",
    Why.CONTEXT: "the conversation does not fit",
    Why.REFUSED: "its vendor refused the request",
}


def cause(desk: Desk, agent: str, output: Output) -> str:
    """Why a program could not work, as part of a sentence; empty if unknown."""
    stop = told_by(desk, agent, output)
    if stop is None:
        return ""
    what, sign_in = CAUSES.get(stop.why, ""), agents.load(agent).SIGN_IN
    if stop.why is Why.REFUSED and exit_reason.is_about_login(stop.said):
        what = "it is not signed in" + (f"; {sign_in}" if sign_in else "")
    elif stop.why is Why.OVERLOADED and exit_reason.is_about_rate(stop.said):
        what = "its vendor is rate limiting requests"
    said = stop.said.rstrip(".")
    return f"{what} ({said})" if what and said else what or said


def clean(desk: Desk, said: str) -> str:
    """A program's message without secrets: it may quote a key."""
    return redaction.redact(desk, said).text if said else ""


def is_in_trouble(desk: Desk, agent: str, ended: Ended | None) -> bool:
    """Whether a program that ended by itself reported an error."""
    if ended is None or ended.by is not End.ITSELF or ended.exit_code in (0, None):
        return False
    return told_by(desk, agent, ended.output) is not None
