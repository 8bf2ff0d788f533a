"""The demonstration: one handoff from end to end, in a scratch folder, with nothing to install or to pay.

Everything in it is real but the model: a transcript on disk that is read as any other, thresholds from
the settings, a brief packed within a budget, an agent started as a separate program, the embedded
store, and answers graded against the facts.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from segue import agents, budget, disk, store
from segue.agents import demo
from segue.errors import NotFound
from segue.model import Brief, Receipt, Trigger, Usage
from segue.ops import handoffs, history, sessions
from segue.ops.desk import Desk

BUDGET = 400
"""Small, so that the receipt has something to say about what was left out."""

TRANSCRIPT = Path(demo.__file__).with_name("demo_transcript.jsonl")


class Story(Struct, frozen=True):
    """What happened, step by step."""

    folder: str
    transcript: str
    entries: int
    bytes: int
    usage: Usage
    trigger: Trigger
    brief: Brief
    receipt: Receipt
    report: handoffs.Report
    log: history.Verdict
    operations: int


def play(desk: Desk, folder: Path) -> Story:
    """Do it all in a folder that is made for it; the desk's store must be in there too."""
    disk.make_private_folder(folder)
    path = folder / "work.demo.jsonl"
    disk.write_file(path, TRANSCRIPT.read_bytes())

    (transcript,) = demo.find(folder)
    entries = list(agents.adapter("demo").read(transcript))
    usage = demo.usage(transcript)
    limits = budget.Thresholds(
        desk.settings.limits_recommend, desk.settings.limits_urgent, desk.settings.limits_models
    )
    trigger = budget.trigger_for(usage, limits) if usage else None
    if usage is None or trigger is None:
        raise NotFound(noun="reason to hand over in", name=str(path), next="segue config get limits.urgent")

    session = sessions.create(desk, "Invoices a cent off", project=folder).value
    assert session is not None  # noqa: S101 - it was just made
    handoff = handoffs.prepare(
        desk, session, "demo", entries, to="demo", reason=trigger.reasoning, budget=BUDGET
    )
    brief, receipt = handoffs.brief_of(desk, handoff), handoffs.receipt_of(desk, handoff)
    report = handoffs.validate(desk, handoffs.execute(desk, handoff, folder))
    return Story(
        str(folder),
        str(path),
        len(entries),
        path.stat().st_size,
        usage,
        trigger,
        brief,
        receipt,
        report,
        history.verify(desk),
        len(history.log(desk, store.shared.LIMIT)),
    )
