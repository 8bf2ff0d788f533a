"""What `segue` alone shows: the agents on this machine, and what was going on in this folder."""

from __future__ import annotations

from msgspec import Struct

from segue import agents, places
from segue.model import Handoff, Limit, Session
from segue.ops.desk import Desk


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
    sessions = desk.shared.open_sessions(project) if desk.has_store else []
    handoffs = [handoff for session in sessions for handoff in desk.shared.handoffs_of(session.id)]
    last = max(handoffs, key=lambda handoff: handoff.updated_at, default=None)
    return Overview(project, tuple(found), tuple(sessions), last)
