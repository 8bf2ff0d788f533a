"""Execution of one handoff: claim the worktree, deliver, start the target, check what arrived, record the outcome."""

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
"""Delay before a slow snapshot is announced."""
ENDED = {HandoffState.COMPLETED, *ENDS}
RECORD = re.compile(r"^\{$.*?^\}$", re.MULTILINE | re.DOTALL)
"""JSON object over several lines."""

Tell = Callable[[str], None]
May = Callable[[Handoff], bool]
"""Asks the user whether a handoff may go to its vendor."""
Doubt = Callable[[proof.Proof], bool]
"""Asks the user whether to start a target whose copy failed the questions."""


def refuse(_proof: proof.Proof) -> bool:
    return False


class Trip:
    """One handoff, executed by one process."""

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
        """Whether the target must be ended. A run replaces this check."""

    @property
    def delivery(self) -> Delivery:
        if self.handoff.delivery is None:
            raise Refused(what=f"Handoff {self.handoff.id} has no delivery.", next="segue log")
        return self.handoff.delivery

    def use(self, mode: Mode) -> None:
        """Change the mode of a handoff whose target is not running, for example if there is a terminal now."""
        if self.delivery.mode is not mode and not self.is_running():
            self.handoff = handoff_records.settle(self.desk, self.handoff, mode=mode)

    # Before the start

    def refuse_unasked(self, may: May) -> None:
        if self.handoff.returns:
            return  # the vendor had the work before
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
        """Vendor that has the work already; empty if the source transcript is gone."""
        source = consent.source_transcript(self.desk, self.handoff.transcript)
        return consent.vendor_before(source) if source else ""

    def deliver(self, prove: bool) -> None:
        """Write everything the target needs, and start it."""
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
        """Prompt for the target. With `prove`, it repeats what a copy of the target could not answer."""
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
        """Refuse to start a target whose copy failed the questions, unless the user agrees."""
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
        """Acquire the worktree's lease, from an earlier handoff if it is of the same session."""
        held = leases.holder(self.desk, self.project)
        if held is not None and held.handoff != self.handoff.id:
            self.refuse_busy(held)
            with contextlib.suppress(NotFound):
                if handoff_records.get(self.desk, held.handoff).session == self.handoff.session:
                    leases.give_back(self.desk, self.project, held.handoff)
        if not self.handoff.returns:
            leases.take(self.desk, self.project, self.handoff.id, self.title)

    def refuse_busy(self, held: Held) -> None:
        """Refuse the worktree while its holder is running."""
        if process.is_running(handoff_records.folder_of(self.desk, held.handoff)):
            raise Refused(
                what=f"{held.holder} is still working in {held.root} (handoff {held.handoff}).",
                next="wait until it ends, or end it; then run this command again",
            )

    def let_go(self) -> None:
        leases.give_back(self.desk, self.project, self.handoff.id)

    def write(self) -> str:
        """Write the conversation as a native transcript; returns its path."""
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
            why = f"no native transcript could be written: {error}"
            self.tell(f"{why.capitalize()} Only the brief is sent.")
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
        """Snapshot of the worktree's files. A slow snapshot is announced."""
        text = f"Recording the state of the files in {self.project}, to check later what changed. This takes "
        late = threading.Timer(SLOW_SECONDS, self.tell, [f"{text}up to {tree.SECONDS:.0f} seconds."])
        late.start()
        try:
            return tree.snapshot(self.project, self.desk.places.data, self.desk.env)
        finally:
            late.cancel()

    def said(self, text: str) -> str:
        """Prompt as the target gets it: the whole text or, if that is too long, the file to read."""
        told = prompt.pointing_to(self.handoff.id, self.file) if self.is_in_file(text) else text
        return deliver.spoken(handoff_records.keeper_of(self.desk, self.handoff), told)

    def is_in_file(self, text: str) -> bool:
        if self.delivery.mode is Mode.HEADLESS and not self.file.exists():
            return False
        said = deliver.spoken(handoff_records.keeper_of(self.desk, self.handoff), text)
        return len(said.encode()) >= ONE_ARGUMENT

    def lay_out(self, text: str) -> None:
        """Write a prompt that is too long for the command line to a file."""
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
        """Ignore interrupts until the command ends. They are for the agent, and users often press Ctrl-C twice."""
        self.desk.until_closed.enter_context(process.undisturbed(self.delivery.mode))

    def go_on(self) -> None:
        """Resume a target that has the handoff and is not running."""
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
        """Whether a headless target can no longer succeed: some retry for ever without a network."""
        if self.delivery.mode is not Mode.HEADLESS:
            return False
        return (
            exit_reason.told_by(self.desk, self.agent.name, process.output_of(self.folder, None)) is not None
        )

    def watch(self) -> object:
        """Check the target's transcript while it runs, and store the package. Errors are ignored here, because the
        transcript is checked again after the target has ended."""
        is_packed = self.handoff.package.context is not None
        if self.delivery.mode is Mode.OPEN and self.delivery.has_arrived and is_packed:
            return None  # the user works there for hours and sees its progress
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
        """Check the target's transcript after it has ended, and record the outcome."""
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
        with self.told("could not store the package"):
            self.handoff = handoff_records.package(self.desk, self.handoff)
        told = outcome.of(self.desk, self.handoff, found, self.proof.report if self.proof else None)
        self.handoff = handoff_records.finish(self.desk, self.handoff, Event.COMPLETE, told)
        if not self.file.exists():  # the target may read it again
            shutil.rmtree(self.folder, ignore_errors=True)
        with self.told("could not remove old snapshots"):
            self.prune_trees()
        return found

    def prune_trees(self) -> None:
        """Remove snapshots that no unfinished or recent handoff refers to."""
        since = clock.later(self.desk.clock(), -tree.KEEP_DAYS * 86_400)
        known = self.desk.shared.all(HANDOFF)
        live = [one for one in known if one.state not in ENDED or one.updated_at >= since]
        kept = [(Path(one.delivery.project), one.delivery.tree) for one in live if one.delivery]
        tree.prune(self.desk.places.data, self.desk.env, [pair for pair in kept if pair[1]])

    @property
    def again(self) -> str:
        """Command that tries the handoff again."""
        return "segue back" if self.handoff.returns else f"segue to {self.handoff.target}"

    @contextlib.contextmanager
    def told(self, what: str) -> Iterator[None]:
        """Report an error of a side task without failing the handoff."""
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
            return "stopped responding and was ended without taking the handoff"
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
            return "it reached a limit"
        return f"the task is not finished ({self.how_it_ended()})"

    def how_it_ended(self) -> str:
        if self.ended is None:
            return "it left no record"
        if self.ended.is_given_up:
            return "it stopped responding and was ended"
        code, said = self.ended.exit_code, self.last_words()
        return (f"exit code {code}" if code is not None else "the process is gone") + (
            f": {said}" if said else ""
        )

    def cause(self) -> str:
        """Why the program stopped, according to its output."""
        output = self.ended.output if self.ended else None
        return begun(exit_reason.cause(self.desk, self.agent.name, output), LONGEST_SAID) if output else ""

    def last_words(self) -> str:
        output = self.ended.output if self.ended else None
        return begun(exit_reason.clean(self.desk, _last_line(output)), LONGEST_SAID) if output else ""

    def record_interruption(self) -> None:
        """Record that the target was interrupted: acknowledged if it has the handoff, failed if not."""
        with self.told("could not record the interruption"):
            # The signal may have arrived between a change in the store and its result here.
            self.handoff = handoff_records.get(self.desk, self.handoff.id)
            found = self.look()
            if found.has_handoff:
                self.acknowledge(found)
                self.tell(f"Stopped. {self.again} resumes it; segue undo reverts it.")
            else:
                self.fail()
                self.tell(f"Stopped before {self.title} had the handoff. {self.again} tries again.")

    def fail(self, **delivery: Any) -> None:
        self.step(Event.FAIL, **delivery)
        self.let_go()
        self.remove_leftover()

    def remove_leftover(self) -> None:
        with self.told("could not clean up the target's history"):
            if stays := leftovers.remove(self.desk, self.handoff):
                self.tell(f"note: {stays}")

    def fail_untaken(self) -> None:
        """Fail a handoff that a stopped target recorded but did not start on. A resumed conversation keeps the handoff
        and can continue it later."""
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
    """Last readable line that a program printed, from stderr if possible. JSON is skipped."""
    for printed in (output.stderr, output.stdout):
        lines = RECORD.sub("", printed).splitlines()
        for line in map(str.strip, reversed(lines)):
            if line and not line.startswith("{") and not line.endswith("}"):
                return line
    return ""


def _nanoseconds(moment: str) -> int:
    return int(clock.parse(moment).timestamp() * 1e9)
