"""`segue session`: the pieces of work that handoffs belong to."""

from __future__ import annotations

import click

from segue.faces import render
from segue.faces.cli.frame import Frame, answers
from segue.model import Session
from segue.ops import sessions as ops
from segue.ops.found import Work
from segue.ops.sessions import Change, Info

SHOWN_TRANSCRIPTS = 12
SHOWN_MOMENTS = 6
NOTED = {"compact": "shortened", "end": "ended"}


def created_screen(change: Change[Session]) -> str:
    session = change.kept()
    return f"Session {session.id}: {render.clean(session.title)}"


def closed_screen(change: Change[Session]) -> str:
    return f"Closed. segue undo opens it again ({change.operation.id})."


def used_screen(session: Session) -> str:
    return f"This folder's session is now {session.id}: {render.clean(render.short(session.title, 60))}"


def linked_screen(change: Change[Session]) -> str:
    session = change.kept()
    return f"Session {session.id} has {render.plural(len(session.transcripts), 'linked transcript')}."


def list_screen(works: list[Work]) -> str:
    if not works:
        return (
            "No sessions here yet. segue session create makes one; segue session list --all looks everywhere."
        )
    heads = ("", "id", "state", "owner", "last active", "transcripts", "title", "project")
    lines = [render.table([heads, *map(_row, works)])]
    if any(work.is_current for work in works):
        lines.append(render.dim("* this folder's session"))
    return "\n".join(lines)


def _row(work: Work) -> tuple[str, ...]:
    session = work.session
    return (
        "*" if work.is_current else " ",
        session.id,
        session.status.value if work.is_kept else "found",
        session.owner,
        render.local(work.active_at) if work.active_at else "-",
        str(len(work.transcripts)),
        render.short(session.title, 60),
        session.project,
    )


def info_screen(info: Info) -> str:
    work = info.work
    session = work.session
    rated = f"{1 + session.satisfaction * 4:.0f} of 5" if session.satisfaction is not None else "not rated"
    rows = [
        ("Session", session.id),
        ("Title", render.short(session.title, 100)),
        ("Status", session.status.value if work.is_kept else "found in transcripts, not kept yet"),
        ("Owner", f"{session.owner} (epoch {session.epoch})"),
        ("Project", session.project),
        ("Created", render.when(session.created_at) if session.created_at else "-"),
        ("Last active", render.when(work.active_at) if work.active_at else "-"),
        ("Rating", rated),
        ("Transcripts", str(len(work.transcripts))),
        ("Handoffs", str(len(info.handoffs))),
    ]
    transcripts = [
        (t.id[:36], t.agent, t.relation.value if t.relation else "", render.short(t.title, 60))
        for t in work.transcripts[:SHOWN_TRANSCRIPTS]
    ]
    handoffs = [
        (h.id, h.state.value, f"{h.source} → {h.target}", render.when(h.created_at)) for h in info.handoffs
    ]
    noted = [
        (NOTED.get(n.event, n.event), n.agent, render.when(n.at), render.short(n.why, 40))
        for n in info.noted[-SHOWN_MOMENTS:]
    ]
    tables = [
        render.table(rows),
        *(render.table(each, indent="  ") for each in (transcripts, handoffs, noted)),
    ]
    return "\n".join(filter(None, tables))


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
@click.option("--all", "everywhere", is_flag=True, help="Those that are found in other folders as well.")
@answers(list_screen)
def list_all(frame: Frame, everywhere: bool) -> list[Work]:
    """Show sessions: those kept, and those found in this folder."""
    return ops.listed(frame.desk, everywhere=everywhere, progress=frame.progress("Reading transcripts"))


@session.command("info")
@click.argument("id", required=False)
@answers(info_screen)
def info(frame: Frame, id: str | None) -> Info:
    """Show one session; this folder's if no ID is given."""
    return ops.info(frame.desk, id)


@session.command("use")
@click.argument("id")
@answers(used_screen)
def use(frame: Frame, id: str) -> Session:
    """Make a session the one of this folder."""
    return ops.use(frame.desk, id)


@session.command("link")
@click.argument("id")
@click.argument("transcripts", nargs=-1, required=True)
@answers(linked_screen)
def link(frame: Frame, id: str, transcripts: tuple[str, ...]) -> Change[Session]:
    """Add transcripts to a session, whichever agent or folder they are from."""
    return ops.link(frame.desk, id, transcripts)


@session.command("close")
@click.argument("id")
@answers(closed_screen)
def close(frame: Frame, id: str) -> Change[Session]:
    """Close a session: the work is done."""
    return ops.close(frame.desk, id)


COMMANDS = {"session": session}
