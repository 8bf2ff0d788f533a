"""Delivery of a handoff: the native transcript, the prompt, and short runs of the target's program."""

from __future__ import annotations

from pathlib import Path

from segue import agents
from segue import conversation as conversations
from segue.agents.shared.launch import Launch, Written
from segue.briefs import prompt
from segue.errors import AgentError, AgentFailed
from segue.model import Agent, Handoff, Receipt, Source
from segue.model.conversation import Conversation
from segue.model.delivery import Mode
from segue.ops.common import process, redaction
from segue.ops.common.desk import Desk
from segue.ops.handoff import consent, handoff_records, plan


def write(desk: Desk, handoff: Handoff, conversation: Conversation, id: str, logs: Path) -> Written:
    """Write the conversation as a native transcript of a handoff's target."""
    agent, program = plan.target_of(desk, handoff.target)[1:]
    if handoff.delivery is None:
        raise AgentError(agent=agent.title, what=f"handoff {handoff.id} has no delivery")
    project = Path(handoff.delivery.project)
    return write_transcript(desk, agent, program, project, conversation, id, logs)


def write_transcript(
    desk: Desk, agent: Agent, program: str, project: Path, conversation: Conversation, id: str, logs: Path
) -> Written:
    """Write a conversation as a native transcript of an agent. Writing it again changes nothing."""
    writer = agents.writer(agent.name)
    if writer is None:
        raise AgentError(agent=agent.title, what="Segue cannot write transcripts for it")
    redaction.assure_clean(conversations.text_of(conversation), desk.settings.redact_allow)
    written = writer.write(conversation, id, project, program, desk.env)
    if written.admit:
        run(desk, Launch(argv=written.admit), project, logs / "admitted", agent.title)
    return written


def discard(desk: Desk, handoff: Handoff, source: Source, logs: Path) -> None:
    """Remove a transcript that Segue wrote from the target's history, if its agent supports that."""
    name = handoff_records.agent_of(handoff.target)
    take_away = agents.load(name).discard
    launch = take_away(source, agents.program_of(name, desk.env) or name, desk.env) if take_away else None
    if launch and handoff.delivery:
        run(desk, launch, Path(handoff.delivery.project), logs / "discarded", agents.get(name).title)


def run(desk: Desk, launch: Launch, project: Path, logs: Path, title: str) -> None:
    """Run a short command of an agent's program, headless."""
    ended = process.run(
        launch,
        mode=Mode.HEADLESS,
        folder=project,
        env=desk.env,
        logs=logs,
        look=lambda: None,
        patience=process.ERRAND_SECONDS,
    )
    if ended.exit_code or ended.is_given_up:
        said = ended.said.rpartition("\n")[2][:300]
        raise AgentFailed(agent=title, what=f"{launch.argv[1]} exited with code {ended.exit_code}: {said}")


def extra_for(desk: Desk, handoff: Handoff, receipt: Receipt, *, is_above: bool) -> prompt.Extra:
    """Parts of the prompt besides the brief, as of now."""
    facts = tuple(line.fact for line in receipt.lines)
    source = consent.source_transcript(desk, handoff.transcript)
    target = agents.get(handoff_records.agent_of(handoff.target))
    folder = Path(handoff.delivery.project) if handoff.delivery else desk.project
    source_agent = handoff_records.agent_of(handoff.source)
    files = () if handoff.returns else plan.travelling(desk, source_agent, target, folder)[0]
    return prompt.Extra(
        drift=plan.drift_of(desk, facts, source, folder),
        instructions=files,
        reason=handoff.delivery.reason if handoff.delivery else "",
        is_above=is_above,
    )


def spoken(agent: str, text: str) -> str:
    """Text escaped so that an agent's program takes it literally: some programs read the files that a message
    names."""
    say = agents.load(agent).spoken
    return str(say(text)) if say else text


def new_id(agent: str, seed: str) -> str:
    """Id for a new transcript; empty if the agent chooses its own."""
    make = agents.load(agent).new_id
    return str(make(seed)) if make else ""


def tidy(desk: Desk, agent: str, id: str) -> None:
    """Remove the files that a program leaves beside a resumed transcript."""
    if id and (clear := agents.load(agent).tidy):
        clear(id, desk.env)
