"""Screens of the list of sessions and of one session."""

from __future__ import annotations

from segue.faces import render
from segue.ops.work.discovery import Work, satisfaction_of
from segue.ops.work.sessions import Info

SHOWN_TRANSCRIPTS = 12
SHOWN_MOMENTS = 6
NOTED = {"compact": "shortened", "end": "ended"}


def listed(works: list[Work]) -> str:
    if not works:
        return "No sessions here yet. Start one: segue session create · All folders: segue session list --all"
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


def info(info: Info) -> str:
    work = info.work
    session = work.session
    satisfaction = satisfaction_of(session, info.handoffs)
    rated = render.rating(satisfaction) if satisfaction is not None else "not rated"
    rows = [
        ("Session", session.id),
        ("Title", render.short(session.title, 100)),
        ("Status", session.status.value if work.is_kept else "found in transcripts, not saved yet"),
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
