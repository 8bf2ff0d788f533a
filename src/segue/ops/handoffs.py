"""Handing work over: prepare, execute, validate. The only place that knows the order of the steps.

entries -> facts -> brief + receipt -> store (prepared) -> the target runs -> what it holds is read
back -> store (acknowledged, completed) -> its answers are graded -> store (validated)
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from segue import agents, briefs, disk, lifecycle
from segue.agents import demo
from segue.errors import AgentError, AgentFailed, NotFound, Refused
from segue.facts.tracker import derive
from segue.lifecycle import Event
from segue.model import (
    Brief,
    Entry,
    Fact,
    Handoff,
    HandoffState,
    Package,
    Receipt,
    Session,
    SessionStatus,
)
from segue.ops import briefs as making
from segue.ops import redaction
from segue.ops.desk import Desk
from segue.ops.warm import Meaning
from segue.store import HANDOFF

RUN_SECONDS = 60


class Probe(Struct, frozen=True):
    """A question to the target whose right answer the facts hold."""

    question: str
    section: str
    about: str
    expected: str
    answer: str | None = None

    @property
    def is_right(self) -> bool:
        return self.answer is not None and self.expected in self.answer


class Report(Struct, frozen=True):
    """What the target proved to hold."""

    handoff: Handoff
    probes: tuple[Probe, ...]

    @property
    def right(self) -> int:
        return sum(probe.is_right for probe in self.probes)


def prepare(
    desk: Desk, session: Session, source: str, entries: Sequence[Entry], *, to: str, reason: str, budget: int
) -> Handoff:
    """Pack what matters and put it into the store, ready to go."""
    if session.status is not SessionStatus.OPEN:
        raise Refused(
            what=f"Session {session.id} is closed.", next="segue undo opens it again, if you closed it last"
        )
    known = derive(entries, Meaning(source))
    about = briefs.About(title=session.title, source=f"From {agents.get(source).title}.")
    secrets = making.Secrets(redaction.key(desk), desk.settings.redact_allow)
    made = making.of_facts(known, about, making.Wish(budget=budget, target=to), secrets)
    brief, receipt = made.brief, made.receipt
    context = desk.shared.keep(msgspec.json.encode(list(entries)))
    package = Package(
        context=context.hash,
        size=context.size,
        stored=context.stored,
        brief=desk.shared.keep(msgspec.json.encode(brief)).hash,
    )
    now = desk.clock()
    handoff = Handoff(
        id=desk.new_id("h"),
        session=session.id,
        source=source,
        target=to,
        tier=brief.tier,
        state=HandoffState.PREPARED,
        reason=reason,
        package=package,
        receipt=desk.shared.keep(msgspec.json.encode(receipt)).hash,
        created_at=now,
        updated_at=now,
        not_passed=(*brief.not_passed, "the conversation itself (kept in the package)"),
    )
    desk.shared.record(HANDOFF, "handoff.prepared", handoff.id, lambda _present: handoff)
    return handoff


def get(desk: Desk, id: str) -> Handoff:
    return desk.shared.get(HANDOFF, id)


def brief_of(desk: Desk, handoff: Handoff) -> Brief:
    return msgspec.json.decode(desk.shared.content(handoff.package.brief), type=Brief)


def receipt_of(desk: Desk, handoff: Handoff) -> Receipt:
    return msgspec.json.decode(desk.shared.content(handoff.receipt), type=Receipt)


def execute(desk: Desk, handoff: Handoff, folder: Path) -> Report:
    """Start the target with the brief and read back what it holds."""
    reader = agents.reader(handoff.target)
    text = briefs.render(brief_of(desk, handoff))
    brief_file = folder / f"{handoff.id}.md"
    disk.write_file(brief_file, text.encode())
    probes = probes_for(receipt_of(desk, handoff))
    there_before = {source.path for source in reader.find(desk.env, [folder])}
    step(desk, handoff, Event.DELIVER)
    try:
        answered = _ask(demo.answering(brief_file, folder), folder, probes)
        # Only what the target left behind itself counts, not what was there for it to find.
        new = [found for found in reader.find(desk.env, [folder]) if found.path not in there_before]
        if not any(entry.text == text for source in new for entry in reader.read(source)):
            raise ValueError("what it holds is not what was sent")
    except (OSError, subprocess.TimeoutExpired, ValueError, AgentError) as error:
        step(desk, handoff, Event.FAIL)
        raise AgentFailed(agent=handoff.target, what=str(error)) from error
    step(desk, handoff, Event.ACKNOWLEDGE)
    proof = desk.shared.keep(msgspec.json.encode(answered)).hash
    return Report(step(desk, handoff, Event.COMPLETE, proof=proof), answered)


def _ask(argv: Sequence[str], folder: Path, probes: Sequence[Probe]) -> tuple[Probe, ...]:
    """Run the target on its brief, put the questions to it, and give them back with its answers."""
    questions = json.dumps([{"section": probe.section, "about": probe.about} for probe in probes])
    done = subprocess.run(
        argv, input=questions.encode(), capture_output=True, cwd=folder, timeout=RUN_SECONDS, umask=0o077
    )
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise ValueError(said or f"exit code {done.returncode}")
    answers = msgspec.json.decode(done.stdout, type=list[str | None])
    if len(answers) != len(probes):
        raise ValueError(f"it gave {len(answers)} answers to {len(probes)} questions")
    return tuple(
        msgspec.structs.replace(probe, answer=answer) for probe, answer in zip(probes, answers, strict=True)
    )


def step(desk: Desk, handoff: Handoff, event: Event, *, proof: str | None = None) -> Handoff:
    """Take a handoff one state further."""

    def decide(present: Handoff | None) -> Handoff:
        if present is None:
            raise NotFound(noun="handoff", name=handoff.id, next="segue log")
        return msgspec.structs.replace(
            present,
            state=lifecycle.transition(present.state, event),
            proof=proof or present.proof,
            updated_at=desk.clock(),
        )

    kind = f"handoff.{event.value.replace(' ', '_')}"
    return desk.shared.record(HANDOFF, kind, handoff.id, decide).kept()


def validate(desk: Desk, report: Report) -> Report:
    """Close the handoff: validated if every answer was right, failed if not."""
    event = Event.VALIDATE if report.right == len(report.probes) else Event.FAIL
    return msgspec.structs.replace(report, handoff=step(desk, report.handoff, event))


QUESTIONS = {
    "constraint": ("What did the person last rule out or insist on?", ""),
    "test": ("Which test fails?", ""),
    "file": ("Which file was changed last?", ": {value}"),
    "next step": ("What is next?", ""),
}
"""For each kind of fact a question, and what a fitting line must hold."""


def probes_for(receipt: Receipt) -> tuple[Probe, ...]:
    """One question of each kind, about what came about last."""
    latest: dict[str, Fact] = {}
    for line in receipt.lines:
        if line.fact.kind != "test" or line.fact.value == "failing":
            latest[line.fact.kind] = line.fact
    return tuple(
        Probe(
            question,
            briefs.title_of(latest[kind]),
            about.format(value=latest[kind].value),
            latest[kind].subject or latest[kind].value,
        )
        for kind, (question, about) in QUESTIONS.items()
        if kind in latest
    )
