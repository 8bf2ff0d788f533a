"""Prewarming: the next agent is given the context while the one before it is still at work.

It reads all of it and answers with a word; at the switch its own transcript is gone on with, and it is told only how
things stand now. That costs the tokens of reading the context once more if there is no switch after all, so it is only
done where the person asked for it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Struct

from segue import agents, carry, disk, prompt
from segue.agents.starting import Launch, Start
from segue.conversation import Conversation
from segue.delivery import Mode, Way
from segue.errors import AgentError, NotFound, SegueError
from segue.ops import (
    arrival,
    children,
    delivering,
    found,
    legs,
    planning,
    records,
    redaction,
    refresh,
    running,
)
from segue.ops.arrival import Sought
from segue.ops.desk import Desk, open_desk
from segue.ops.planning import Order, Plan
from segue.ops.refresh import Pass
from segue.runs import Run

FILE = "prewarmed.json"
LARGEST = 1 << 16
NOT_YET = (
    "Another agent is still at work on this: do nothing yet, change nothing and use no tool. You will be told when the "
    "work is yours, and what has changed until then. Answer with one word now: ready."
)


class Prewarmed(Struct, frozen=True, kw_only=True):
    """A transcript of an agent that has the context of another's."""

    target: str
    source: str
    """The transcript that the context is of."""
    transcript: str


def all_of(desk: Desk, run: str) -> list[Prewarmed]:
    try:
        content = disk.read_file(running.folder(desk, run) / FILE, LARGEST)
        return msgspec.json.decode(content, type=list[Prewarmed])
    except (OSError, msgspec.MsgspecError):
        return []


def transcript_for(desk: Desk, run: str, target: str, source: str) -> str:
    """The transcript in which an agent was given the context of another one; empty where it was not."""
    return next(
        (one.transcript for one in all_of(desk, run) if (one.target, one.source) == (target, source)), ""
    )


def transcripts_of(desk: Desk, run: str) -> set[str]:
    return {one.transcript for one in all_of(desk, run)}


class Prewarming(threading.Thread):
    """One agent being given the context: beside the supervision, with a desk of its own."""

    def __init__(self, desk: Desk, run: Run, target: str, source: str, tell: Callable[[str], None]) -> None:
        super().__init__(daemon=True)
        self.outer, self.run_, self.tell = desk, run, tell
        self.of = (target, source)

    def run(self) -> None:
        desk = open_desk(env=self.outer.env, cwd=self.outer.cwd, clock=self.outer.clock)
        try:
            self.tell(f"{records.title_of(self.of[0])} is ready: {prewarm(desk, self.run_, *self.of)}.")
        except SegueError as error:
            self.tell(f"note: {records.title_of(self.of[0])} was not prewarmed: {error}")
        finally:
            desk.close()


def prewarm(desk: Desk, run: Run, target: str, source: str) -> str:
    """Give an agent the context; the id of its transcript."""
    refresh.refresh(desk, [Pass.SPENDS, Pass.ENTRIES])
    works = [work for work in found.works(desk) if any(one.id == source for one in work.transcripts)]
    if not works:
        raise NotFound(noun="transcript", name=source, next="segue transcripts")
    order = Order(to=target, mode=Mode.HEADLESS, session=run.session or None, anyway=True)
    plan = planning.plan(desk, order, works[0])
    id = desk.new_id("h")
    logs = running.folder(desk, run.id) / "prewarming"
    resume = _written(desk, plan, id, logs)
    extra = prompt.Extra(instructions=plan.instructions, is_above=bool(resume))
    text = prompt.compose(id, plan.made.brief, extra, closing=NOT_YET)
    redaction.assure_clean(text, desk.settings.redact_allow)
    keeper = records.keeper_for(desk, plan.agent.name)
    start = Start(
        program=plan.program,
        project=Path(plan.folder),
        mode=Mode.HEADLESS,
        prompt=delivering.spoken(keeper, text),
        model=plan.target.model,
        resume=resume,
        id="" if resume else delivering.new_id(plan.agent.name, id),
        is_question=True,
        arguments=legs.arguments_for(run, plan.agent.name),
    )
    sought = Sought(agent=keeper, handoff=id, project=start.project, since=time.time_ns(), text=start.prompt)
    children.run(
        agents.starter(plan.agent.name).command(start, desk.env),
        mode=Mode.HEADLESS,
        folder=start.project,
        env={**desk.env, "SEGUE_HANDOFF": id},
        logs=logs,
        look=lambda: None,
        patience=run.patience,
    )
    arrived = arrival.look(sought, desk.env, plan.conversation)
    if not arrived.is_there or not arrived.reply:
        raise AgentError(agent=plan.agent.title, what="it did not take the context")
    _keep(desk, run.id, Prewarmed(target=target, source=source, transcript=arrived.id))
    return arrived.id


def _written(desk: Desk, plan: Plan, id: str, logs: Path) -> str:
    """The conversation as a transcript of the agent's own, where that is the way; its id."""
    writer = agents.writer(plan.agent.name)
    if plan.way is not Way.NATIVE or writer is None or plan.conversation == Conversation():
        return ""
    redaction.assure_clean(carry.text_of(plan.conversation), desk.settings.redact_allow)
    written = writer.write(plan.conversation, writer.new_id(id), Path(plan.folder), plan.program, desk.env)
    if written.admit:
        told = Launch(argv=written.admit)
        delivering.run(desk, told, Path(plan.folder), logs / "admitted", plan.agent.title)
    return written.id


def _keep(desk: Desk, run: str, one: Prewarmed) -> None:
    known = [*all_of(desk, run), one]
    disk.write_file(running.folder(desk, run) / FILE, msgspec.json.encode(known))
