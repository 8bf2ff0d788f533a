"""What a session is about: its goal, how far it is, what comes next. Derived from facts, and corrected by people.

Apart from the other nouns, because a session keeps what a person corrected. In JSON the fields have the names that
other tools know them by: primaryGoal, subGoals, ...
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

Progress = Annotated[float, Meta(ge=0, le=1)]
"""The share that is done."""


class TaskContext(Struct, frozen=True, kw_only=True, rename="camel"):
    """What is worked on: all that a receiver must know to go on."""

    primary_goal: str = ""
    sub_goals: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    progress: Progress = 0.0
    next_steps: tuple[str, ...] = ()
    critical_context: tuple[str, ...] = ()


class TaskEdit(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What a person said of a task: it holds in the place of what was derived. None where they said nothing."""

    primary_goal: str | None = None
    sub_goals: tuple[str, ...] | None = None
    constraints: tuple[str, ...] | None = None
    progress: Progress | None = None
    next_steps: tuple[str, ...] | None = None
    critical_context: tuple[str, ...] | None = None

    def over(self, task: TaskContext) -> TaskContext:
        """The task with what the person said laid over it."""
        return msgspec.structs.replace(task, **self.said())

    def said(self) -> dict[str, Any]:
        """The fields that the person spoke of."""
        return {name: value for name, value in msgspec.structs.asdict(self).items() if value is not None}


def difference(derived: TaskContext, edited: TaskContext) -> TaskEdit | None:
    """What a person changed in a task; None where they changed nothing."""
    before, after = msgspec.structs.asdict(derived), msgspec.structs.asdict(edited)
    changed = {name: value for name, value in after.items() if value != before[name]}
    return TaskEdit(**changed) if changed else None
