"""One writer: a handoff takes a lease on the worktree that its target works in, and gives it back.

The store knows who holds what. A note beside it tells the agents' hooks, which open no store: it is written after the
row and removed before the row is settled, so a note never speaks of a lease that was not taken.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from segue import agents
from segue.base import paths
from segue.errors import NotFound, Refused, SegueError
from segue.hooks import guard
from segue.hooks.guard import Held
from segue.model import Lease
from segue.ops.common.desk import Desk

KIND = "worktree"
SECONDS = 12 * 3600
"""How long a lease holds unless it is taken again: longer than a working day, shorter than a forgotten window."""
TRIES = 3


def take(desk: Desk, project: Path, holder_id: str, title: str) -> None:
    """Let nobody but the target of a handoff, or the agent of a run, change the worktree; again for longer. `title` is
    what people call it."""
    root = root_of(project)
    lease = None
    for _ in range(TRIES):
        lease = desk.shared.take(KIND, _subject(root), SECONDS, holder=holder_id)
        if lease is not None:
            break
        if held := holder(desk, project):
            raise Refused(
                what=f"{held.holder} holds {paths.as_text(root)} since {held.since[:16].replace('T', ' ')} UTC "
                f"(handoff {held.handoff}); one agent at a time may change it.",
                next=f"{held.back} ends that and returns the work; it ends by itself at "
                f"{held.expires[:16].replace('T', ' ')} UTC",
            )
    if lease is None:
        raise Refused(what=f"{paths.as_text(root)} passes from hand to hand.", next="run the command again")
    _write(desk, _held(root, lease, title))


def holder(desk: Desk, project: Path) -> Held | None:
    """Who may change the worktree now, if it is not just anyone."""
    if not desk.has_store:
        return None
    root = root_of(project)
    lease = desk.shared.held(_subject(root))
    return _held(root, lease, _title(desk, root, lease)) if lease else None


def session_of_holder(desk: Desk, project: Path) -> str | None:
    """The session whose handoff holds the worktree; None where nobody does, or a run."""
    held = holder(desk, project)
    if held is None:
        return None
    from segue.store import HANDOFF  # lazy: as above

    try:
        return desk.shared.get(HANDOFF, held.handoff).session
    except NotFound:
        return None


def give_back(desk: Desk, project: Path, handoff_id: str) -> None:
    """The handoff no longer needs the worktree. What it does not hold (any more) is left as it is."""
    from segue.store import os_errors  # lazy: as the desk does

    root = root_of(project)
    with os_errors.translated(desk.places.data / guard.FOLDER):
        guard.drop(desk.places.data, str(root), handoff_id)
    lease = desk.shared.held(_subject(root)) if desk.has_store else None
    if lease and lease.holder == handoff_id:
        with contextlib.suppress(Refused):  # its time ran out between the two
            desk.shared.settle(lease)


def root_of(project: Path) -> Path:
    """The worktree that a folder is in, under the one name that it has without links."""
    return paths.find_project(Path(os.path.realpath(project)))


def _subject(root: Path) -> str:
    # A store can serve many machines, and the same path is another folder on each.
    return f"{KIND}:{os.uname().nodename}:{paths.as_text(root)}"


def _held(root: Path, lease: Lease, title: str) -> Held:
    is_run = (lease.holder or "").startswith("r-")
    return Held(
        back=f"segue run stop {lease.holder}" if is_run else "segue back",
        root=str(root),
        handoff=lease.holder or "",
        holder=title,
        since=lease.due_at,
        expires=lease.expires_at or "",
    )


def _title(desk: Desk, root: Path, lease: Lease) -> str:
    """What people call the holder: as it was noted, or by the handoff itself."""
    for held in guard.notes(desk.places.data):
        if held.root == str(root) and held.handoff == lease.holder:
            return held.holder
    from segue.store import HANDOFF  # lazy: as above

    try:
        return agents.get(desk.shared.get(HANDOFF, lease.holder or "").target.partition(":")[0]).title
    except SegueError:
        return "another agent"


def _write(desk: Desk, held: Held) -> None:
    from segue.store import os_errors  # lazy: as above

    with os_errors.translated(desk.places.data / guard.FOLDER):
        guard.put(desk.places.data, held, desk.clock())
