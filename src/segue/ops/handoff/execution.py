"""One handoff on its way, in the hands of one process."""

from __future__ import annotations

import contextlib
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from segue import agents
from segue.agents.shared.launch import ONE_ARGUMENT, Start
from segue.base import clock, files
from segue.base.text import begun
from segue.briefs import prompt
from segue.errors import (
    AgentError,
    AgentFailed,
    NoConsent,
    NotArrived,
    NotFound,
    NotProved,
    Refused,
    SegueError,
    Stopped,
)
from segue.hooks.guard import Held
from segue.model import Ending, Handoff, HandoffState
from segue.model.brief_format import RESUME
from segue.model.conversation import Conversation
from segue.model.delivery import Delivery, Mode, Way
from segue.model.exit_reason import LONGEST_SAID, Output
from segue.model.handoff import ENDS, Event
from segue.ops.common import exit_reason, process, redaction, tree
from segue.ops.common.desk import Desk
from segue.ops.common.process import End, Ended
from segue.ops.handoff import (
    arrival,
    consent,
    deliver,
    handoff_records,
    leases,
    leftovers,
    outcome,
    plan,
    proof,
)
from segue.ops.handoff.arrival import Arrival, Sought
from segue.ops.index import provenance
from segue.ops.work import sessions
from segue.store import HANDOFF

SLOW_SECONDS = 2.0
"""How long a person waits for a snapshot without being told."""
ENDED = {HandoffState.COMPLETED, *ENDS}
RECORD = re.compile(r"^\{$.*?^\}$", re.MULTILINE | re.DOTALL)
"""JSON over several lines."""

Tell = Callable[[str], None]
May = Callable[[Handoff], bool]
"""Asks the person whether a handoff may go to its vendor."""
Doubt = Callable[[proof.Proof], bool]
"""Asks the person whether to start a target whose copy failed the questions."""


def refuse(_proof: proof.Proof) -> bool:
    return False


class Trip:
    """One handoff on its way, in the hands of one process."""

    def __init__(self, desk: Desk, handoff: Handoff, tell: Tell, doubt: Doubt = refuse) -> None:
        self.desk = desk
        self.doubt = doubt
        self.handoff = handoff
        self.tell = tell
        self.agent = agents.get(handoff_records.agent_of(handoff.target))
        self.title = self.agent.title
        self.starter = agents.starter(self.agent.name)
        self.folder = handoff_records.folder_of(desk, handoff.id)
        self.file = self.folder / "handoff.md"
        self.project = Path(self.delivery.project)
        self.conversation = handoff_records.conversation_of(desk, handoff)
        self.found = Arrival()
        self.seen: object = None
        self.proof: proof.Proof | None = None
        self.ended: Ended | None = None
        self.since = 0
        self.patience = process.PATIENCE_SECONDS
        self.enough: Callable[[], bool] = process.seldom(self.is_in_vain)
        """Whether the target is to be ended, for whoever attends the trip."""

    @property
    def delivery(self) -> Delivery:
        if self.handoff.delivery is None:
            raise Refused(what=f"Handoff {self.handoff.id} has no delivery.", next="segue log")
        return self.handoff.delivery

    def use(self, mode: Mode) -> None:
        """Go on in another mode than it was begun in: there is a terminal now, or none any more."""
        if self.delivery.mode is not mode and not self.is_running():
            self.handoff = handoff_records.settle(self.desk, self.handoff, mode=mode)

    # Before the start

    def refuse_unasked(self, may: May) -> None:
        if self.handoff.returns:
            return  # the work was there before
        vendor = consent.vendor_of(self.desk, self.handoff.target)
        if consent.is_given(self.desk, self.delivery.project, vendor, self.vendor_before()):
            return
        if not may(self.handoff):
            id = self.handoff.id
            raise NoConsent(
                vendor=vendor,
                kept=f" Handoff {id} stays prepared.",
                again=f"segue handoff execute {id}",
                look=f"segue show {id}",
            )
        consent.give(self.desk, self.delivery.project, vendor)
        handoff_records.renew_offers(self.desk)

    def vendor_before(self) -> str:
        """Who has the work already; nobody that is known, where the transcript is gone."""
        known = (entry.transcript for entry in self.desk.index.transcripts().values())
        source = next((one for one in known if one and one.id == self.handoff.transcript), None)
        return consent.vendor_before(source) if source else ""

    def deliver(self, prove: bool) -> None:
        """Put everything in place, and start the target."""
        self.claim()
        try:
            path = self.write()
            text = self.text(prove)
            self.lay_out(text)
            self.record_start(text, path)
        except BaseException:
            self.let_go()
            self.remove_leftover()
            raise
        self.start(self.said(text), self.delivery.transcript if self.delivery.way is not Way.PROMPT else "")

    def text(self, prove: bool) -> str:
        """What is to be said, with what a target that was asked turned out not to know."""
        brief, receipt = (
            handoff_records.brief_of(self.desk, self.handoff),
            handoff_records.receipt_of(self.desk, self.handoff),
        )
        is_above = self.delivery.way is Way.NATIVE
        extra = deliver.extra_for(self.desk, self.handoff, receipt, is_above=is_above)
        if prove:
            asked = proof.Asked(self.handoff, brief, receipt, extra, self.conversation)
            self.proof = proof.prove(self.desk, asked, self.folder, self.tell)
            self.handoff = handoff_records.keep_proof(self.desk, self.handoff, self.proof)
            self.refuse_unproved(self.proof)
            extra = msgspec.structs.replace(extra, missing=self.proof.missing)
        text = prompt.compose(self.handoff.id, brief, extra)
        redaction.assure_clean(text, self.desk.settings.redact_allow, brief.nonce)
        return text

    def refuse_unproved(self, proof: proof.Proof) -> None:
        """Start no target whose copy failed the questions, unless the person wants that."""
        if not proof.report.has_failed or self.doubt(proof):
            return
        raise NotProved(
            agent=self.title,
            right=proof.report.right,
            asked=len(proof.report.results),
            handoff=self.handoff.id,
            again=self.again,
        )

    def claim(self) -> None:
        """Take the worktree, from the handoff before if that is of the same session."""
        held = leases.holder(self.desk, self.project)
        if held is not None and held.handoff != self.handoff.id:
            self.refuse_busy(held)
            with contextlib.suppress(NotFound):
                if handoff_records.get(self.desk, held.handoff).session == self.handoff.session:
                    leases.give_back(self.desk, self.project, held.handoff)
        if not self.handoff.returns:
            leases.take(self.desk, self.project, self.handoff.id, self.title)

    def refuse_busy(self, held: Held) -> None:
        """What is still at work keeps the worktree."""
        if process.is_running(handoff_records.folder_of(self.desk, held.handoff)):
            raise Refused(
                what=f"{held.holder} is still at work in {held.root} (handoff {held.handoff}).",
                next="let it end, or end it; then run this command again",
            )

    def let_go(self) -> None:
        leases.give_back(self.desk, self.project, self.handoff.id)

    def write(self) -> str:
        """The conversation, where the target finds it; the file it is in."""
        if self.delivery.way is not Way.NATIVE:
            return self.delivery.path
        sessions.include(self.desk, self.handoff.session, self.delivery.transcript)
        leftovers.expect(self.desk, self.handoff, self.delivery.transcript)
        try:
            written = deliver.write(
                self.desk, self.handoff, self.conversation, self.delivery.transcript, self.folder
            )
            leftovers.note(self.desk, self.handoff, written)
        except AgentError as error:
            self.remove_leftover()
            why = f"no transcript could be written for it: {error}"
            self.tell(f"{why.capitalize()} The brief alone goes.")
            self.conversation = Conversation()
            self.handoff = handoff_records.settle(
                self.desk, self.handoff, way=Way.PROMPT, why=why, transcript="", turns=0
            )
            return ""
        return str(written.path)

    def record_start(self, text: str, path: str) -> None:
        self.since = time.time_ns()
        (said,) = keeps = self.desk.shared.put_all([text.encode()])
        settled = {
            "prompt": said.hash,
            "path": path,
            "attempts": self.delivery.attempts + 1,
        }
        if not self.delivery.tree and (found := self.snapshot()):
            settled |= {"tree": found.tree, "head": found.head, "tree_at": self.desk.clock()}
        if self.handoff.state is HandoffState.PREPARED:
            self.handoff = handoff_records.step(
                self.desk, self.handoff, Event.DELIVER, keeps=keeps, **settled
            )
        else:
            self.handoff = handoff_records.settle(self.desk, self.handoff, keeps=keeps, **settled)

    def snapshot(self) -> tree.Snapshot | None:
        """The state of the worktree's files. A person who waits for it is told what for."""
        text = f"Recording the state of the files in {self.project}, to check later what changed. This takes "
        late = threading.Timer(SLOW_SECONDS, self.tell, [f"{text}up to {tree.SECONDS:.0f} seconds."])
        late.start()
        try:
            return tree.snapshot(self.project, self.desk.places.data, self.desk.env)
        finally:
            late.cancel()

    def said(self, text: str) -> str:
        """What is said to the target: all of it, or where it is too long for that, where to read it."""
        told = prompt.pointing_to(self.handoff.id, self.file) if self.is_in_file(text) else text
        return deliver.spoken(handoff_records.keeper_of(self.desk, self.handoff), told)

    def is_in_file(self, text: str) -> bool:
        if self.delivery.mode is Mode.HEADLESS and not self.file.exists():
            return False
        said = deliver.spoken(handoff_records.keeper_of(self.desk, self.handoff), text)
        return len(said.encode()) >= ONE_ARGUMENT

    def lay_out(self, text: str) -> None:
        """Put what is too long to be said where it can be read."""
        self.file.unlink(missing_ok=True)
        if self.is_in_file(text):
            files.write_file(self.file, text.encode())

    # The run

    def start(self, text: str, resume: str) -> None:
        start = Start(
            program=plan.target_of(self.desk, self.handoff.target)[2],
            project=self.project,
            mode=self.delivery.mode,
            prompt=text,
            model=self.delivery.model,
            resume=resume,
            id=""
            if resume
            else deliver.new_id(self.agent.name, f"{self.handoff.id} {self.delivery.attempts}"),
            arguments=self.delivery.arguments,
        )
        env = {**self.desk.env, "SEGUE_HANDOFF": self.handoff.id}
        self.hear_no_keys()
        try:
            self.ended = process.run(
                self.starter.command(start, self.desk.env),
                mode=self.delivery.mode,
                folder=self.project,
                env=env,
                logs=self.folder,
                look=self.watch,
                patience=self.patience,
                enough=self.enough,
            )
        except (KeyboardInterrupt, SystemExit):
            self.record_interruption()
            raise
        except SegueError:
            self.fail()
            raise
        except OSError as error:
            self.fail()
            raise AgentFailed(agent=self.title, what=error.strerror or str(error)) from error
        finally:
            deliver.tidy(self.desk, self.agent.name, resume)

    def hear_no_keys(self) -> None:
        """To the end of the command: they are the agent's, and who leaves one often presses them once more."""
        self.desk.until_closed.enter_context(process.undisturbed(self.delivery.mode))

    def go_on(self) -> None:
        """The target has it, and is not running: open it again, or let it finish."""
        self.claim()
        found = self.look()
        self.acknowledge(found)
        if self.delivery.mode is Mode.HEADLESS:
            if found.ending is Ending.ENDED and found.reply:
                return
            self.start(RESUME.text, found.id)
        else:
            self.start("", found.id)

    def is_running(self) -> bool:
        return process.is_running(self.folder)

    def wait(self) -> None:
        patience = self.patience if self.delivery.mode is Mode.HEADLESS else None
        try:
            self.ended = process.wait(self.folder, self.watch, patience, self.enough)
        except (KeyboardInterrupt, SystemExit):
            self.record_interruption()
            raise

    def is_in_vain(self) -> bool:
        """Whether a headless target waits for what will not come: some try again for ever without a network."""
        if self.delivery.mode is not Mode.HEADLESS:
            return False
        return (
            exit_reason.told_by(self.desk, self.agent.name, process.output_of(self.folder, None)) is not None
        )

    def watch(self) -> object:
        """What is done while the target runs: see what it got, and pack the rest. Whatever goes wrong with that, the
        target goes on: it is looked at once more when it has ended."""
        is_packed = self.handoff.package.context is not None
        if self.delivery.mode is Mode.OPEN and self.delivery.has_arrived and is_packed:
            return None  # a person works there for hours, and it is they who see whether it gets on
        files = arrival.state_of_files(self.sought, self.desk.env)
        if files != self.seen:
            self.seen = files
            with contextlib.suppress(SegueError):
                if not self.delivery.has_arrived and (found := self.look()).is_there:
                    self.acknowledge(found)
                self.handoff = handoff_records.package(self.desk, self.handoff)
        return files

    @property
    def sought(self) -> Sought:
        delivery = self.delivery
        text = self.desk.shared.content(delivery.prompt).decode() if delivery.prompt else ""
        return Sought(
            agent=handoff_records.keeper_of(self.desk, self.handoff),
            handoff=self.handoff.id,
            project=self.project,
            since=self.since or _nanoseconds(self.handoff.updated_at),
            text=self.said(text) if text else "",
            is_in_file=self.is_in_file(text),
            path=delivery.path,
            part=delivery.part,
        )

    def look(self) -> Arrival:
        self.found = arrival.look(self.sought, self.desk.env, self.conversation)
        return self.found

    # After it

    def acknowledge(self, found: Arrival) -> None:
        if self.delivery.has_arrived or found.source is None:
            return
        sessions.include(self.desk, self.handoff.session, found.id)
        is_written = self.delivery.way is Way.NATIVE and found.source.path == self.delivery.path
        if found.is_first or is_written:
            provenance.confirm_own(self.desk, found.source)
        self.step(
            Event.ACKNOWLEDGE,
            transcript=found.id,
            path=found.source.path,
            part=found.source.part,
            has_arrived=True,
        )

    def end(self) -> Arrival:
        """What came of it, by the target's own records."""
        self.hear_no_keys()
        found = self.look()
        if not found.is_there and not self.delivery.has_arrived:
            self.fail()
            raise self.not_arrived(found)
        self.acknowledge(found)
        is_done = self.delivery.mode is Mode.OPEN or (
            found.ending is Ending.ENDED
            and bool(found.reply)
            and not exit_reason.is_in_trouble(self.desk, self.agent.name, self.ended)
        )
        if not is_done:
            raise Stopped(agent=self.title, what=self.how_it_stopped(found), again=self.again)
        with self.told("the context was not packed"):
            self.handoff = handoff_records.package(self.desk, self.handoff)
        told = outcome.of(self.desk, self.handoff, found, self.proof.report if self.proof else None)
        self.handoff = handoff_records.finish(self.desk, self.handoff, Event.COMPLETE, told)
        if not self.file.exists():  # the target may read it again
            shutil.rmtree(self.folder, ignore_errors=True)
        with self.told("old copies of files were not removed"):
            self.prune_trees()
        return found

    def prune_trees(self) -> None:
        """Remove snapshots that no handoff under way refers to, nor one that changed lately."""
        since = clock.later(self.desk.clock(), -tree.KEEP_DAYS * 86_400)
        known = self.desk.shared.all(HANDOFF)
        live = [one for one in known if one.state not in ENDED or one.updated_at >= since]
        kept = [(Path(one.delivery.project), one.delivery.tree) for one in live if one.delivery]
        tree.prune(self.desk.places.data, self.desk.env, [pair for pair in kept if pair[1]])

    @property
    def again(self) -> str:
        """The command that tries once more."""
        return "segue back" if self.handoff.returns else f"segue to {self.handoff.target}"

    @contextlib.contextmanager
    def told(self, what: str) -> Iterator[None]:
        """Something beside the handoff itself: where it fails, that is told, and no more."""
        try:
            yield
        except SegueError as error:
            self.tell(f"note: {what}: {error}")

    def why_not(self, found: Arrival) -> str:
        if found.is_whole and found.carried < found.due:
            held = f"its transcript holds {found.carried} of {found.due} turns of the conversation"
            return f"did not take the whole handoff: {held}"
        if self.ended is None:
            return "left no record of the handoff"
        if self.ended.is_given_up:
            return "showed no sign of life and was given up: it never took the handoff"
        code = self.ended.exit_code
        how = (
            "was ended"
            if self.ended.by is End.ENOUGH
            else "exited"
            if code is None
            else f"exited (code {code})"
        )
        said = self.cause() or self.last_words()
        return f"{how} without taking the handoff" + (f": {said}" if said else "")

    def how_it_stopped(self, found: Arrival) -> str:
        if cause := self.cause():
            return cause
        if found.ending is Ending.LIMIT:
            return "at a limit of its own"
        return f"in the middle of it ({self.how_it_ended()})"

    def how_it_ended(self) -> str:
        if self.ended is None:
            return "it left no record of it"
        if self.ended.is_given_up:
            return "it showed no sign of life and was given up"
        code, said = self.ended.exit_code, self.last_words()
        return (f"exit code {code}" if code is not None else "it is gone") + (f": {said}" if said else "")

    def cause(self) -> str:
        """Why the program could not go on, as far as what it printed tells."""
        output = self.ended.output if self.ended else None
        return begun(exit_reason.cause(self.desk, self.agent.name, output), LONGEST_SAID) if output else ""

    def last_words(self) -> str:
        output = self.ended.output if self.ended else None
        return begun(exit_reason.clean(self.desk, _last_line(output)), LONGEST_SAID) if output else ""

    def record_interruption(self) -> None:
        """The target was ended from outside: it has the handoff and can be continued, or it never got it."""
        with self.told("the interruption was not recorded"):
            # The signal may have arrived between a change in the store and its result here.
            self.handoff = handoff_records.get(self.desk, self.handoff.id)
            found = self.look()
            if found.has_handoff:
                self.acknowledge(found)
                self.tell(f"Stopped. {self.again} continues it; segue undo takes it back.")
            else:
                self.fail()
                self.tell(f"Stopped before {self.title} had the handoff. {self.again} starts again.")

    def fail(self, **delivery: Any) -> None:
        self.step(Event.FAIL, **delivery)
        self.let_go()
        self.remove_leftover()

    def remove_leftover(self) -> None:
        with self.told("the target's history was not cleaned up"):
            if stays := leftovers.remove(self.desk, self.handoff):
                self.tell(f"note: {stays}")

    def fail_untaken(self) -> None:
        """A target that recorded the handoff, stopped in trouble and did nothing with it has not taken it. One that
        goes on with a conversation of its own keeps the handoff there, and can go on with it later."""
        is_new = self.delivery.way is not Way.RESUME
        if is_new and self.found.source and leftovers.is_untaken(self.handoff, self.found.source):
            self.fail(has_arrived=False)
            raise self.not_arrived(self.found)

    def not_arrived(self, found: Arrival) -> NotArrived:
        return NotArrived(
            agent=self.title, what=self.why_not(found), again=self.again, handoff=self.handoff.id
        )

    def step(self, event: Event, **delivery: Any) -> None:
        self.handoff = handoff_records.step(self.desk, self.handoff, event, **delivery)


def _last_line(output: Output) -> str:
    """The last line for people that a program printed, to standard error if anything; what is for programs is none."""
    for printed in (output.stderr, output.stdout):
        lines = RECORD.sub("", printed).splitlines()
        for line in map(str.strip, reversed(lines)):
            if line and not line.startswith("{") and not line.endswith("}"):
                return line
    return ""


def _nanoseconds(moment: str) -> int:
    return int(clock.parse(moment).timestamp() * 1e9)
