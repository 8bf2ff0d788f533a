"""Prewarming: the next agent gets the context while the present one still works.

It reads the context and answers with one word. At the switch, its transcript is resumed with an update only. If there
is no switch, the tokens for reading the context are wasted, so prewarming runs only if the user asked for it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Struct

from segue import agents
from segue.agents.shared.launch import Start
from segue.base import files
from segue.briefs import prompt
from segue.errors import AgentError, NotFound, SegueError
from segue.model.brief_format import PREWARM
from segue.model.conversation import Conversation
from segue.model.delivery import Mode, Way
from segue.ops.common import process, redaction
from segue.ops.common.desk import Desk, open_desk
from segue.ops.handoff import arrival, deliver, handoff_records
from segue.ops.handoff import plan as handoff_plan
from segue.ops.handoff.arrival import Sought
from segue.ops.handoff.plan import Order, Plan
from segue.ops.index import refresh
from segue.ops.index.refresh import Pass
from segue.ops.work import discovery, run_records
from segue.routing import Run

FILE = "prewarmed.json"
LARGEST = 1 << 16


class Prewarmed(Struct, frozen=True, kw_only=True):
    """Transcript of an agent that was given the context of another transcript."""

    target: str
    source: str
    """Transcript that the context comes from."""
    transcript: str
    is_ready: bool = False
    """Whether the agent has answered, so that the transcript can be used."""


def all_of(desk: Desk, run: str) -> list[Prewarmed]:
    try:
        content = files.read_file(run_records.folder(desk, run) / FILE, LARGEST)
        return msgspec.json.decode(content, type=list[Prewarmed])
    except (OSError, msgspec.MsgspecError):
        return []


def transcript_for(desk: Desk, run: str, target: str, source: str) -> str:
    """Prewarmed transcript of a target for a source transcript; empty if there is none."""
    wanted = (target, source, True)
    return next(
        (one.transcript for one in all_of(desk, run) if (one.target, one.source, one.is_ready) == wanted), ""
    )


def transcripts_of(desk: Desk, run: str) -> set[str]:
    return {one.transcript for one in all_of(desk, run)}


class Prewarming(threading.Thread):
    """Prewarming of one agent in a thread with its own desk."""

    def __init__(self, desk: Desk, run: Run, target: str, source: str, tell: Callable[[str], None]) -> None:
        super().__init__(daemon=True)
        self.outer, self.run_, self.tell = desk, run, tell
        self.target, self.source = target, source
        self.is_over = threading.Event()

    def run(self) -> None:
        desk = open_desk(env=self.outer.env, cwd=self.outer.cwd, clock=self.outer.clock)
        title = handoff_records.title_of(self.target)
        try:
            id = prewarm(desk, self.run_, self.target, self.source, self.is_over.is_set)
            self.tell(f"{title} has the context (transcript {id}) and is ready.")
        except (SegueError, OSError) as error:
            self.tell(f"note: {title} was not prewarmed: {error}")
        finally:
            desk.close()

    def end(self) -> None:
        self.is_over.set()
        self.join(2 * process.GRACE_SECONDS)


def logs_of(desk: Desk, run: str) -> Path:
    """Folder with the output of the prewarmed program."""
    return run_records.folder(desk, run) / "prewarming"


def prewarm(desk: Desk, run: Run, target: str, source: str, enough: Callable[[], bool]) -> str:
    """Give an agent the context. Returns the id of its transcript."""
    refresh.refresh(desk, [Pass.SPENDS, Pass.ENTRIES])
    works = [work for work in discovery.works(desk) if any(one.id == source for one in work.transcripts)]
    if not works:
        raise NotFound(noun="transcript", name=source, next="segue transcripts")
    plan = handoff_plan.plan(desk, Order(to=target, mode=Mode.HEADLESS, anyway=True), works[0])
    id = desk.new_id("h")
    resume = _written(desk, plan, id, logs_of(desk, run.id))
    extra = prompt.Extra(instructions=plan.instructions, is_above=bool(resume))
    text = prompt.compose(id, plan.made.brief, extra, closing=PREWARM)
    redaction.assure_clean(text, desk.settings.redact_allow, plan.made.brief.nonce)
    keeper = handoff_records.keeper_for(desk, plan.agent.name)
    # Without the user's arguments for its program, which are for the work itself.
    start = Start(
        program=plan.program,
        project=Path(plan.folder),
        mode=Mode.HEADLESS,
        prompt=deliver.spoken(keeper, text),
        model=plan.target.model,
        resume=resume,
        id="" if resume else deliver.new_id(plan.agent.name, id),
        is_question=True,
    )
    sought = Sought(agent=keeper, handoff=id, project=start.project, since=time.time_ns(), text=start.prompt)
    begun = Prewarmed(target=target, source=source, transcript=resume or start.id)
    _keep(desk, run.id, begun)
    process.run(
        agents.starter(plan.agent.name).command(start, desk.env),
        mode=Mode.HEADLESS,
        folder=start.project,
        env={**desk.env, "SEGUE_HANDOFF": id},
        logs=logs_of(desk, run.id),
        look=lambda: None,
        patience=run.patience,
        enough=enough,
    )
    arrived = arrival.look(sought, desk.env, plan.conversation)
    is_ready = arrived.is_there and bool(arrived.reply)
    known = arrived.id or begun.transcript
    _keep(desk, run.id, msgspec.structs.replace(begun, transcript=known, is_ready=is_ready))
    if not is_ready:
        raise AgentError(agent=plan.agent.title, what="it did not take the context")
    return arrived.id


def _written(desk: Desk, plan: Plan, id: str, logs: Path) -> str:
    """Write the conversation as a native transcript if the plan says so. Returns its id."""
    writer = agents.writer(plan.agent.name)
    if plan.way is not Way.NATIVE or writer is None or plan.conversation == Conversation():
        return ""
    return deliver.write_transcript(
        desk, plan.agent, plan.program, Path(plan.folder), plan.conversation, writer.new_id(id), logs
    ).id


def _keep(desk: Desk, run: str, one: Prewarmed) -> None:
    others = [had for had in all_of(desk, run) if (had.target, had.source) != (one.target, one.source)]
    known = [*others, one]
    files.write_file(run_records.folder(desk, run) / FILE, msgspec.json.encode(known))
