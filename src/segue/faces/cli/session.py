"""`segue session`: list, create, link and close sessions."""

from __future__ import annotations

import click

from segue.faces import render
from segue.faces.cli.frame import Frame, answers
from segue.faces.screens import sessions as screens
from segue.model import Session
from segue.ops.work import sessions
from segue.ops.work.discovery import Work
from segue.ops.work.sessions import Change, Info


def created_screen(change: Change[Session]) -> str:
    session = change.kept()
    return f"Session {session.id}: {render.clean(session.title)}"


def closed_screen(change: Change[Session]) -> str:
    return f"Closed. To reopen it: segue undo {change.operation.id}"


def used_screen(session: Session) -> str:
    return f"This folder's session is now {session.id}: {render.clean(render.short(session.title, 60))}"


def linked_screen(change: Change[Session]) -> str:
    session = change.kept()
    return f"Session {session.id} has {render.plural(len(session.transcripts), 'linked transcript')}."


@click.group()
def session() -> None:
    """Manage sessions: durable pieces of work, with their transcripts and handoffs."""


@session.command("create")
@click.option("--title", default="", help="What it is about; the folder's name by default.")
@click.option("--key", help="Idempotency key: the same key returns the same session.")
@answers(created_screen)
def create(frame: Frame, title: str, key: str | None) -> Change[Session]:
    """Start a session for this folder."""
    return sessions.create(frame.desk, title, key=key)


@session.command("list")
@click.option("--all", "everywhere", is_flag=True, help="Include sessions of other folders.")
@answers(screens.listed)
def list_all(frame: Frame, everywhere: bool) -> list[Work]:
    """List sessions: saved ones, and those found in this folder's transcripts."""
    return sessions.listed(frame.desk, everywhere=everywhere, progress=frame.progress("Reading transcripts"))


@session.command("info")
@click.argument("id", required=False)
@answers(screens.info)
def info(frame: Frame, id: str | None) -> Info:
    """Show one session (this folder's by default)."""
    return sessions.info(frame.desk, id)


@session.command("use")
@click.argument("id")
@answers(used_screen)
def use(frame: Frame, id: str) -> Session:
    """Make a session this folder's current session."""
    return sessions.use(frame.desk, id)


@session.command("link")
@click.argument("id")
@click.argument("transcripts", nargs=-1, required=True)
@answers(linked_screen)
def link(frame: Frame, id: str, transcripts: tuple[str, ...]) -> Change[Session]:
    """Add transcripts of any agent or folder to a session."""
    return sessions.link(frame.desk, id, transcripts)


@session.command("close")
@click.argument("id")
@answers(closed_screen)
def close(frame: Frame, id: str) -> Change[Session]:
    """Close a finished session."""
    return sessions.close(frame.desk, id)


COMMANDS = {"session": session}
