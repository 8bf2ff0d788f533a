"""`segue session`: the pieces of work that handoffs belong to."""

from __future__ import annotations

import click

from segue.faces import render
from segue.faces.cli.frame import Frame, answers
from segue.model import Session
from segue.ops import sessions as ops
from segue.ops.sessions import Change, Info


def created_screen(change: Change[Session]) -> str:
    session = change.kept()
    return f"Session {session.id}: {render.clean(session.title)}"


def closed_screen(change: Change[Session]) -> str:
    return f"Closed. segue undo opens it again ({change.operation.id})."


def list_screen(sessions: list[Session]) -> str:
    if not sessions:
        return "No sessions yet. segue session create makes one."
    return render.table(
        [(s.id, s.status.value, s.owner, render.when(s.updated_at), s.title, s.project) for s in sessions]
    )


def info_screen(info: Info) -> str:
    session = info.session
    rows = [
        ("Session", session.id),
        ("Title", session.title),
        ("Status", session.status.value),
        ("Owner", f"{session.owner} (epoch {session.epoch})"),
        ("Project", session.project),
        ("Created", render.when(session.created_at)),
        ("Last change", render.when(session.updated_at)),
        ("Handoffs", str(len(info.handoffs))),
    ]
    handoffs = [
        (h.id, h.state.value, f"{h.source} → {h.target}", render.when(h.created_at)) for h in info.handoffs
    ]
    return "\n".join(filter(None, [render.table(rows), render.table(handoffs, indent="  ")]))


@click.group()
def session() -> None:
    """The pieces of work that handoffs belong to."""


@session.command("create")
@click.option("--title", default="", help="What it is about; the folder's name if not given.")
@click.option("--key", help="An idempotency key: a second run with it gives the same session.")
@answers(created_screen)
def create(frame: Frame, title: str, key: str | None) -> Change[Session]:
    """Start a session for this folder."""
    return ops.create(frame.desk, title, key=key)


@session.command("list")
@answers(list_screen)
def list_all(frame: Frame) -> list[Session]:
    """Show all sessions, the last touched first."""
    return ops.all_sessions(frame.desk)


@session.command("info")
@click.argument("id")
@answers(info_screen)
def info(frame: Frame, id: str) -> Info:
    """Show one session."""
    return ops.info(frame.desk, id)


@session.command("close")
@click.argument("id")
@answers(closed_screen)
def close(frame: Frame, id: str) -> Change[Session]:
    """Close a session: the work is done."""
    return ops.close(frame.desk, id)


COMMANDS = {"session": session}
