"""Leases on worktrees: only the target of a handoff, or the agent of a run, may write.

Leases are rows of the store. Agents' hooks do not open the store and read a note instead. The note is written after
the row and removed before it, so every note belongs to a lease that was acquired.
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
"""Duration of a lease unless it is renewed: longer than a working day, shorter than a forgotten window."""
TRIES = 3


def take(desk: Desk, project: Path, holder_id: str, title: str) -> None:
    """Acquire or renew the worktree's lease for a handoff or a run. `title` is the holder's display name."""
    root = root_of(project)
    lease = None
    for _ in range(TRIES):
        lease = desk.shared.take(KIND, _subject(root), SECONDS, holder=holder_id)
        if lease is not None:
            break
        if held := holder(desk, project):
            raise Refused(
                what=f"{held.holder} has held {paths.as_text(root)} since {held.since[:16].replace('T', ' ')} UTC "
                f"(handoff {held.handoff}); one agent at a time may change it.",
                next=f"{held.back} ends the lease and returns the work; it expires at "
                f"{held.expires[:16].replace('T', ' ')} UTC",
            )
    if lease is None:
        raise Refused(
            what=f"The lease on {paths.as_text(root)} keeps changing hands.", next="run the command again"
        )
    _write(desk, _held(root, lease, title))


def holder(desk: Desk, project: Path) -> Held | None:
    """Holder of the worktree's lease, if there is one."""
    if not desk.has_store:
        return None
    root = root_of(project)
    lease = desk.shared.held(_subject(root))
    return _held(root, lease, _title(desk, root, lease)) if lease else None


def session_of_holder(desk: Desk, project: Path) -> str | None:
    """Session whose handoff holds the worktree; None if nobody or a run does."""
    held = holder(desk, project)
    if held is None:
        return None
    from segue.store import HANDOFF  # lazy: as above

    try:
        return desk.shared.get(HANDOFF, held.handoff).session
    except NotFound:
        return None


def give_back(desk: Desk, project: Path, handoff_id: str) -> None:
    """Release the worktree's lease if this handoff or run holds it."""
    from segue.store import os_errors  # lazy: as the desk does

    root = root_of(project)
    with os_errors.translated(desk.places.data / guard.FOLDER):
        guard.drop(desk.places.data, str(root), handoff_id)
    lease = desk.shared.held(_subject(root)) if desk.has_store else None
    if lease and lease.holder == handoff_id:
        with contextlib.suppress(Refused):  # it expired in between
            desk.shared.settle(lease)


def root_of(project: Path) -> Path:
    """Root of a folder's worktree, with symbolic links resolved."""
    return paths.find_project(Path(os.path.realpath(project)))


def _subject(root: Path) -> str:
    # A store can serve many machines; the same path is a different folder on each.
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
    """Display name of the holder, from its note or its handoff."""
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
