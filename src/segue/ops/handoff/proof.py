"""Proof by questions: a temporary copy of the target gets the same handoff and answers questions about it.

The copy gets the same conversation and prompt as the target, then the questions. What it cannot answer is repeated in
the target's prompt. The copy is removed.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from segue import agents
from segue.agents.shared.launch import Start
from segue.briefs import probes, prompt, tokens
from segue.errors import AgentError, AgentFailed, Refused
from segue.model import Brief, Handoff, Receipt, Section
from segue.model.conversation import Conversation, Speaker, Turn
from segue.model.delivery import Mode
from segue.ops.common import process
from segue.ops.common.desk import Desk
from segue.ops.handoff import arrival, deliver, handoff_records, plan
from segue.ops.handoff.arrival import Sought

NOTHING = "(Nothing was said before. A handoff follows, and then questions about it.)"


class Asked(Struct, frozen=True):
    """Handoff that a target is asked about."""

    handoff: Handoff
    brief: Brief
    receipt: Receipt
    extra: prompt.Extra
    conversation: Conversation


class Proof(Struct, frozen=True):
    """Graded answers of a target's copy."""

    report: probes.Report
    tokens: int
    """Tokens read to ask the questions."""
    missing: tuple[Section, ...] = ()
    """What it could not answer; repeated in the target's prompt."""


def prove(desk: Desk, asked: Asked, folder: Path, tell: Callable[[str], None]) -> Proof:
    handoff = asked.handoff
    if handoff.delivery is None:
        raise Refused(what=f"Handoff {handoff.id} has no delivery.", next="segue log")
    questions = probes.questions(asked.receipt)
    if not questions:
        raise Refused(
            what="The brief contains no facts to ask questions about.",
            next=f"segue to {handoff.target}, without --prove",
        )
    agent = agents.get(handoff_records.agent_of(handoff.target))
    put = probes.ask(questions, os.urandom(4).hex())
    text = prompt.compose(handoff.id, asked.brief, asked.extra, closing=put)
    count = tokens.counter(agent.vendor).count
    price = probes.price(handoff.delivery.tokens, count(put), count(probes.right_reply(questions)))
    tell(f"Asking a copy of {agent.title} {len(questions)} questions first; it reads about {price:,} tokens.")
    reply = _answer(desk, asked, text, folder / "asked")
    report = probes.grade(questions, reply)
    return Proof(report, price, probes.missing(report))


def _answer(desk: Desk, asked: Asked, text: str, logs: Path) -> str:
    """Start the copy, and read its reply from its transcript."""
    handoff, delivery = asked.handoff, asked.handoff.delivery
    if delivery is None:
        return ""
    name = handoff_records.agent_of(handoff.target)
    agent, writer = agents.get(name), agents.writer(name)
    project = Path(delivery.project)
    program = plan.target_of(desk, handoff.target)[2]
    # A new id each time, so that earlier questions are not in the transcript.
    resume, unique = "", os.urandom(4).hex()
    if writer:
        resume = _write(desk, asked, f"{handoff.id} asked {unique}", logs)
    start = Start(
        program=program,
        project=project,
        mode=Mode.HEADLESS,
        prompt=deliver.spoken(handoff_records.keeper_of(desk, handoff), text),
        model=delivery.model,
        resume=resume,
        id="" if resume else deliver.new_id(name, f"{handoff.id} asked {unique}"),
        is_question=True,
    )
    sought = Sought(
        agent=handoff_records.keeper_of(desk, handoff),
        handoff=handoff.id,
        project=project,
        since=time.time_ns(),
        text=start.prompt,
    )
    try:
        ended = process.run(
            agents.starter(name).command(start, desk.env),
            mode=Mode.HEADLESS,
            folder=project,
            env={**desk.env, "SEGUE_HANDOFF": handoff.id},
            logs=logs,
            look=lambda: None,
        )
        found = arrival.look(sought, desk.env, asked.conversation)
    finally:
        # A copy that cannot be removed does no harm.
        if source := arrival.look(sought, desk.env).source:
            with contextlib.suppress(AgentError, OSError):
                deliver.discard(desk, handoff, source, logs)
    if not found.reply:
        said = ended.said.rpartition("\n")[2][:300]
        raise AgentFailed(agent=agent.title, what=f"it gave no answer (exit code {ended.exit_code}: {said})")
    return found.reply


def _write(desk: Desk, asked: Asked, seed: str, logs: Path) -> str:
    """Write the copy's transcript under an id by which it can be removed, even if the conversation is empty. Returns
    the id, or an empty text if no transcript can be written."""
    id = deliver.new_id(handoff_records.agent_of(asked.handoff.target), seed)
    nothing = Conversation(turns=(Turn(speaker=Speaker.PERSON, text=NOTHING),))
    try:
        deliver.write(
            desk, asked.handoff, asked.conversation if asked.conversation.turns else nothing, id, logs
        )
    except AgentError:
        return ""
    return id
