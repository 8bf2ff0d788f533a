"""The task of a session, derived from its facts: goal, parts, constraints, progress, next steps. Pure.

Everything is quoted word for word; nothing is made up. Progress comes from a todo list if there is one, else from
tests; without either, none is claimed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from segue.base.lazy_regex import lazy_pattern
from segue.facts import constraints
from segue.model import Fact, Origin
from segue.model.task import TaskContext, TaskEdit

MOST = 50
"""At most this many items in a list; the newest stay."""
LONGEST = 1000
"""At most this many characters in an item."""
LAST_DECISIONS = 5
MOST_FILES = 12
UNSURE = 0.9
"""Progress is at most this while something is still open, or if only tests show it."""
OTHER_WORK = lazy_pattern(
    r"(?:ok(?:ay)?|great|thanks|good|done|now|alright)?[,.! ]{0,3}"
    r"(?:(?:here'?s )?(?:an? |the |your )?(?:new|next|different|other|another|separate)"
    r" (?:task|topic|job|feature|project|issue)\b"
    r"|(?:let'?s |please )?(?:move on|switch|turn) to\b|forget (?:about )?(?:that|this|it|the)\b|unrelated\b)",
    re.IGNORECASE,
)
"""The beginning of a message that clearly starts other work."""


SAID = "task-"
"""Prefix of the entry of a fact that the user entered with `segue task edit`."""


def task_from(facts: Iterable[Fact]) -> TaskContext:
    """The task of a session, from its facts in chronological order."""
    every = list(facts)
    asked = [fact for fact in every if fact.kind == "instruction" and constraints.is_work(fact.value)]
    # Without a user, another agent gave the orders.
    asked = asked or [fact for fact in every if fact.kind == "plan"]
    start = next((at for at in range(len(asked) - 1, 0, -1) if OTHER_WORK.match(asked[at].value)), 0)
    todos = [fact for fact in every if fact.kind == "todo" and fact.value != "dropped"]
    steps = _listed(_next_steps(every, todos))
    return TaskContext(
        primary_goal=_short(asked[start].value) if asked else "",
        sub_goals=_listed([todo.subject for todo in todos] or [fact.value for fact in asked[start + 1 :]]),
        constraints=_listed(_constraints(every)),
        progress=_progress(every, todos, is_settled=not steps),
        next_steps=steps,
        critical_context=_listed(_critical(every)),
    )


def _constraints(facts: Sequence[Fact]) -> Iterator[str]:
    """The user's constraints. Those of tools and models are not binding."""
    for fact in facts:
        if fact.kind in ("constraint", "correction") and fact.origin is Origin.HUMAN:
            yield fact.value


def _next_steps(facts: Sequence[Fact], todos: Sequence[Fact]) -> Iterator[str]:
    """What is in progress, then open, then what the agent intended, then what the user is waiting for."""
    for state in ("active", "open"):
        yield from (todo.subject for todo in todos if todo.value == state)
    yield from (fact.value for fact in facts if fact.kind == "next step")
    yield from (f"Waiting for an answer: {fact.value}" for fact in facts if fact.kind == "question")
    if waiting := _unanswered(facts):
        yield waiting.value


def _unanswered(facts: Sequence[Fact]) -> Fact | None:
    """The user's last request, as long as nothing has happened since."""
    asked = [fact for fact in facts if fact.kind == "instruction" and constraints.is_work(fact.value)]
    if not asked or any(fact.n > asked[-1].n and fact.origin is not Origin.HUMAN for fact in facts):
        return None
    return asked[-1]


def _progress(facts: Sequence[Fact], todos: Sequence[Fact], *, is_settled: bool) -> float:
    """The share of todos that are done, else the share of tests that pass, else 0.

    It is 1 only if every todo is done and nothing failed or is waiting.
    """
    tests = [fact.value == "passing" for fact in facts if fact.kind == "test"]
    is_broken = not all(tests) or any(fact.kind == "error" and fact.value == "open" for fact in facts)
    if todos:
        share = sum(todo.value == "done" for todo in todos) / len(todos)
        return share if is_settled and not is_broken else min(share, UNSURE)
    return min(sum(tests) / len(tests), UNSURE) if tests else 0.0


def _critical(facts: Sequence[Fact]) -> Iterator[str]:
    """What a receiver must know: failing tests, failed attempts, decisions, uncommitted files."""
    for fact in facts:
        if fact.kind == "test" and fact.value == "failing":
            yield f"Failing test: {fact.subject}"
    for fact in facts:
        if fact.kind == "error" and fact.value == "open":
            yield f"Open error: {fact.note or fact.subject}"
    for fact in facts:
        if fact.kind == "command" and fact.value.startswith("failed"):
            yield f"Failed attempt: {_both(fact)}"
    for fact in [fact for fact in facts if fact.kind == "decision"][-LAST_DECISIONS:]:
        yield f"Decided: {_both(fact)}"
    if changed := _uncommitted(facts):
        more = f" and {len(changed) - MOST_FILES} more" if len(changed) > MOST_FILES else ""
        yield f"Not committed: {', '.join(changed[-MOST_FILES:])}{more}"


def _uncommitted(facts: Sequence[Fact]) -> list[str]:
    """The files that were changed since the last commit, if there was one."""
    commits = [fact.n for fact in facts if fact.kind == "commit" and fact.value != "mentioned"]
    if not commits:
        return []
    return [fact.subject for fact in facts if fact.kind == "file" and fact.n > max(commits)]


def _both(fact: Fact) -> str:
    told = ": ".join(filter(None, (fact.subject, fact.value)))
    return f"{told} ({fact.note})" if fact.note else told


def _listed(items: Iterable[str]) -> tuple[str, ...]:
    """Each item once, at its last position; the newest if there are too many."""
    once = dict.fromkeys(reversed([_short(item) for item in items if item.strip()]))
    return tuple(reversed(list(once)[:MOST]))


def _short(text: str) -> str:
    text = text.strip()
    return text if len(text) <= LONGEST else text[: LONGEST - 2] + " …"


def replaced(said: TaskEdit) -> tuple[str, ...]:
    """The kinds of derived facts that the user's edits replace, even with nothing."""
    kinds = ("constraint", "correction") if said.constraints is not None else ()
    return (*kinds, "next step") if said.next_steps is not None else kinds


def facts_said(said: TaskEdit) -> tuple[Fact, ...]:
    """The user's edits of a task, as facts: as binding as if they had typed them to the agent."""
    found = [("instruction", f"The goal: {said.primary_goal}")] if said.primary_goal else []
    found += [("instruction", f"Part of the goal: {goal}") for goal in said.sub_goals or ()]
    found += [("constraint", constraint) for constraint in said.constraints or ()]
    found += [("instruction", f"Important: {context}") for context in said.critical_context or ()]
    found += [("instruction", f"Next: {step}") for step in said.next_steps or ()]
    return tuple(
        Fact(kind=kind, subject=text, value=text, entry=f"{SAID}{number}", origin=Origin.HUMAN)
        for number, (kind, text) in enumerate(found, 1)
    )
