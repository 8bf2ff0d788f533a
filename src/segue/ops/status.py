"""What `segue` alone shows: the agents on this machine, and what was going on in this folder."""

from __future__ import annotations

from msgspec import Struct

from segue import agents, places
from segue.model import Handoff, Limit, Session, SessionStatus
from segue.ops.desk import Desk
from segue.store import HANDOFF, SESSION


class AgentStatus(Struct, frozen=True):
    name: str
    title: str
    is_installed: bool
    limits: tuple[Limit, ...]


class Overview(Struct, frozen=True):
    project: str
    agents: tuple[AgentStatus, ...]
    sessions: tuple[Session, ...]
    """The open ones of this folder."""
    last_handoff: Handoff | None


def overview(desk: Desk) -> Overview:
    found = [
        AgentStatus(agent.name, agent.title, agents.locate(agent, desk.env).path is not None, ())
        for agent in agents.all_programs()
    ]
    project = places.as_text(desk.project)
    sessions: list[Session] = []
    handoffs: list[Handoff] = []
    if desk.has_store:
        sessions = [
            session
            for session in desk.shared.all(SESSION)
            if session.project == project and session.status is SessionStatus.OPEN
        ]
        ids = {session.id for session in sessions}
        handoffs = [handoff for handoff in desk.shared.all(HANDOFF) if handoff.session in ids]
    return Overview(project, tuple(found), tuple(sessions), handoffs[0] if handoffs else None)
