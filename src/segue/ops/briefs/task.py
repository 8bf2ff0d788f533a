"""The task of a session: derived from its facts, overridden by what the user wrote."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from segue.briefs import goals
from segue.errors import BadInput, NotFound
from segue.model import Session
from segue.model.task import TaskContext, TaskEdit, difference
from segue.ops.briefs import make
from segue.ops.common.desk import Desk
from segue.ops.work import sessions
from segue.ops.work.discovery import Work
from segue.store import SESSION


class Shown(Struct, frozen=True):
    """A session's current task."""

    session: str
    title: str
    task: TaskContext
    edited: tuple[str, ...] = ()
    """The fields that the user wrote."""
    operation: str = ""
    """The id of the recorded operation, after a change."""


class Written(TaskContext, frozen=True, forbid_unknown_fields=True):
    """A task as the user wrote it; unknown fields are errors."""


def show(desk: Desk, id: str | None = None) -> Shown:
    """The task of a session; without an id, of this folder's."""
    work = sessions.info(desk, id).work
    return _shown(work.session, derived(desk, work))


def derived(desk: Desk, work: Work) -> TaskContext:
    """The task derived from transcripts alone."""
    return goals.task_from(make.facts_of(desk, work))


def edit(desk: Desk, said: TaskEdit, id: str | None = None, *, anew: bool = False) -> Shown:
    """Set fields of the task. Other fields that the user wrote earlier stay, unless `replace_all` is set."""
    if not said.said() and not anew:
        raise BadInput(what="No field of the task was given.", next="segue task edit --help")
    return _recorded(desk, sessions.info(desk, id).work, said, anew)


def parse(text: str) -> TaskContext:
    """Parse a task that the user wrote as JSON."""
    try:
        return msgspec.json.decode(text, type=Written)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise BadInput(what=f"This is not a valid task: {error}.", next="segue task show --json") from error


def edit_whole(desk: Desk, written: TaskContext, id: str | None = None) -> Shown:
    """Set the whole task: fields that differ from the derived task count as written by the user."""
    work = sessions.info(desk, id).work
    said = difference(derived(desk, work), written) or TaskEdit()
    if said == (work.session.task or TaskEdit()):
        return _shown(work.session, derived(desk, work))
    return _recorded(desk, work, said, anew=True)


def _recorded(desk: Desk, work: Work, said: TaskEdit, anew: bool) -> Shown:
    session = sessions.keep(desk, work)

    def decide(present: Session | None) -> Session:
        if present is None:
            raise NotFound(noun="session", name=session.id, next="segue session list")
        before = {} if anew or present.task is None else present.task.said()
        after = {**before, **said.said()}
        return msgspec.structs.replace(
            present, task=TaskEdit(**after) if after else None, updated_at=desk.clock()
        )

    change = desk.shared.record(SESSION, "session.task", session.id, decide)
    shown = _shown(change.kept(), derived(desk, work))
    return msgspec.structs.replace(shown, operation=change.operation.id)


def _shown(session: Session, task: TaskContext) -> Shown:
    said = session.task or TaskEdit()
    return Shown(session.id, session.title, said.over(task), tuple(said.said()))
