"""The demo: one handoff from end to end in a scratch folder, with nothing to install or to pay.

Everything but the model is real: a transcript on disk that is read as any other, thresholds from the settings, a brief
packed within a budget, an agent started as a separate program, the embedded store, and answers graded against facts.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from pathlib import Path

import msgspec
from msgspec import Struct

from segue import agents
from segue.agents.demo import AGENT
from segue.agents.demo import reader as demo
from segue.base import clock as clocks
from segue.base import files
from segue.base.clock import Clock
from segue.errors import BadInput, NoReason
from segue.model import Brief, Receipt, Trigger, Usage
from segue.model.delivery import Mode, Way
from segue.ops import log
from segue.ops.common import desk as desks
from segue.ops.common import redaction
from segue.ops.common.desk import Desk, NewId
from segue.ops.handoff import handoffs
from segue.ops.handoff.plan import Order
from segue.ops.work import sessions
from segue.usage import budget

BUDGET = 550
"""Small, so that the receipt lists facts that were left out."""

TARGET = "demo:successor"
KEY = b"the demonstration has no secrets"
TRANSCRIPT = Path(demo.__file__).with_name("transcript.jsonl")


class Story(Struct, frozen=True):
    """The result of each step of the demo."""

    home: str
    is_kept: bool
    entries: int
    bytes: int
    usage: Usage
    trigger: Trigger
    brief: Brief
    receipt: Receipt
    report: handoffs.Report
    log: log.Verdict
    operations: int


def run(keep: Path | None, *, clock: Clock, new_id: NewId) -> Story:
    """Run the demo in a scratch folder, or in a new folder that is kept."""
    home = keep.absolute() if keep else _scratch()
    try:
        if keep is not None and keep.exists() and (not keep.is_dir() or any(keep.iterdir())):
            what = f"{keep} already exists and is not an empty folder."
            raise BadInput(what=what, next="segue demo --keep NEW_FOLDER")
        desk = open_in(home, home / "project", clock=clock, new_id=new_id)
        # Even if a policy sets another store, the demo's store is in the scratch folder.
        desk.settings = msgspec.structs.replace(desk.settings, store_url="")
        # A fixed key, so everyone gets the same brief: the demo's transcript is public.
        files.write_file(desk.places.data / redaction.KEY_FILE, KEY)
        with contextlib.closing(desk):
            return msgspec.structs.replace(
                play(desk, home / "project"), home=str(home), is_kept=keep is not None
            )
    except OSError as error:
        what = f"{home} cannot be written: {error.strerror}."
        raise BadInput(
            what=what, next="segue demo --keep NEW_FOLDER, in a folder that you can write to"
        ) from error
    finally:
        if keep is None:
            shutil.rmtree(home)


def open_in(home: Path, folder: Path, *, clock: Clock = clocks.now, new_id: NewId = desks.new_id) -> Desk:
    """A desk with the demo agent enabled."""
    return desks.open_desk(
        env={"SEGUE_HOME": str(home), "SEGUE_DEMO": "1"}, cwd=folder, clock=clock, new_id=new_id
    )


def _scratch() -> Path:
    try:
        return Path(tempfile.mkdtemp(prefix="segue-demo-"))
    except OSError as error:
        what = f"A scratch folder could not be created: {error.strerror or error}."
        raise BadInput(
            what=what, next="segue demo --keep NEW_FOLDER, in a folder that you can write to"
        ) from error


def begin(desk: Desk, folder: Path) -> Path:
    """Create a project folder with a session and an agent's transcript."""
    files.make_private_folder(folder)
    session = sessions.create(desk, "Invoices a cent off", project=folder).kept()
    desk.local.confirm(str(folder), AGENT.name, desk.clock())
    path = folder / f"work-{session.id}.demo.jsonl"
    files.write_file(path, TRANSCRIPT.read_bytes())
    sessions.include(desk, session.id, path.name.partition(".")[0])
    return path


def play(desk: Desk, folder: Path) -> Story:
    """Hand the demo's work over and validate the result."""
    path = begin(desk, folder)
    (source,) = demo.find({}, [folder])
    entries = list(agents.reader("demo").read(source))
    usage = demo.usage(source)
    limits = budget.Thresholds(
        desk.settings.limits_recommend, desk.settings.limits_urgent, desk.settings.limits_models
    )
    trigger = budget.trigger_for(usage, limits) if usage else None
    if usage is None or trigger is None:
        raise NoReason(name=path)
    order = Order(
        to=TARGET,
        mode=Mode.HEADLESS,
        way=Way.PROMPT,
        budget=BUDGET,
        prove=True,
        reason=trigger.reasoning,
    )
    handoff = handoffs.hand_over(desk, order, may=lambda _handoff: True, tell=lambda _text: None).handoff
    report = handoffs.validate(desk, handoff.id)
    return Story(
        str(folder),
        True,
        len(entries),
        path.stat().st_size,
        usage,
        trigger,
        handoffs.brief_of(desk, handoff),
        handoffs.receipt_of(desk, handoff),
        report,
        log.verify(desk),
        len(log.log(desk, log.LIMIT)),
    )
