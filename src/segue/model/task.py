"""The task of a session: its goal, its progress and its next steps. Derived from facts, and edited by users.

JSON has the field names of other tools: primaryGoal, subGoals, ...
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

Progress = Annotated[float, Meta(ge=0, le=1)]
"""The share that is done."""


class TaskContext(Struct, frozen=True, kw_only=True, rename="camel"):
    """The task, as a receiver needs it to continue."""

    primary_goal: str = ""
    sub_goals: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    progress: Progress = 0.0
    next_steps: tuple[str, ...] = ()
    critical_context: tuple[str, ...] = ()


class TaskEdit(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A user's edits of a task. They override what was derived; None is unedited."""

    primary_goal: str | None = None
    sub_goals: tuple[str, ...] | None = None
    constraints: tuple[str, ...] | None = None
    progress: Progress | None = None
    next_steps: tuple[str, ...] | None = None
    critical_context: tuple[str, ...] | None = None

    def over(self, task: TaskContext) -> TaskContext:
        """The task with these edits applied."""
        return msgspec.structs.replace(task, **self.said())

    def said(self) -> dict[str, Any]:
        return {name: value for name, value in msgspec.structs.asdict(self).items() if value is not None}


def difference(derived: TaskContext, edited: TaskContext) -> TaskEdit | None:
    """The user's changes to a task; None without any."""
    before, after = msgspec.structs.asdict(derived), msgspec.structs.asdict(edited)
    changed = {name: value for name, value in after.items() if value != before[name]}
    return TaskEdit(**changed) if changed else None
