"""One leg of a run: an agent works on the task, headless, until it is done or stops.

The first leg gets the task as the user wrote it. Every later leg is a handoff.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from segue import agents
from segue.agents.shared.launch import Start
from segue.base.text import begun
from segue.errors import AgentFailed, NotArrived, Stopped
from segue.model import Ending, Limit
from segue.model.brief_format import RESUME
from segue.model.delivery import Mode
from segue.model.exit_reason import Stop, Why
from segue.ops.common import exit_reason, process
from segue.ops.common.desk import Desk
from segue.ops.common.process import End, Ended
from segue.ops.handoff import arrival, deliver, handoff_records, handoffs, plan
from segue.ops.handoff.arrival import Arrival, Sought
from segue.ops.handoff.execution import Trip
from segue.ops.work import run_records
from segue.routing import Leg, Run

HANDOFF = "SEGUE_HANDOFF"
"""Environment variable that tells an agent's hooks who holds the worktree."""
LONGEST_REPLY = 20_000
NO_TRANSCRIPT = "it ended without an error, but Segue found no transcript; check the folder first"
HIT = 100


class Outcome(Struct, frozen=True, kw_only=True):
    """Result of a leg; without a stop, the work is done."""

    stop: Stop | None = None
    transcript: str = ""
    reply: str = ""
    stdout: str = ""
    """End of the program's output."""


class Watch(Struct, frozen=True):
    """When a leg is ended."""

    patience: float
    enough: Callable[[], bool]


class Opening:
    """First leg of a run."""

    def __init__(self, desk: Desk, run: Run, leg: Leg, watch: Watch) -> None:
        self.desk, self.run, self.leg, self.watch = desk, run, leg, watch
        self.address, self.agent, self.program = plan.target_of(desk, leg.target)
        self.keeper = handoff_records.keeper_for(desk, self.agent.name)
        self.logs = logs_of(desk, run, leg)
        self.said = deliver.spoken(self.keeper, run.task)
        self.transcript = ""
        """Id of the agent's transcript, as soon as there is one."""
        self.files: object = None

    def travel(self) -> Outcome:
        """Run the leg from its present state to the end; an earlier supervisor may have started it."""
        ended: Ended | None = None
        if process.is_running(self.logs):
            ended = process.wait(self.logs, self.look_at_files, self.watch.patience, self.watch.enough)
        elif not (found := self.look()).has_handoff:
            ended = self.start(self.said, "")
        elif not _is_done(found):
            ended = self.start(RESUME.text, found.id)
        found = self.look()
        return outcome(self.desk, self.agent.name, ended, found)

    def start(self, text: str, resume: str) -> Ended:
        start = Start(
            program=self.program,
            project=Path(self.run.project),
            mode=Mode.HEADLESS,
            prompt=text,
            model=self.address.model,
            resume=resume,
            id=""
            if resume
            else deliver.new_id(self.agent.name, f"{self.logs.name} {self.leg.tries} {self.run.id}"),
            arguments=arguments_for(self.run, self.agent.name),
        )
        try:
            return process.run(
                agents.starter(self.agent.name).command(start, self.desk.env),
                mode=Mode.HEADLESS,
                folder=start.project,
                env={**self.desk.env, HANDOFF: self.run.id},
                logs=self.logs,
                look=self.look_at_files,
                patience=self.watch.patience,
                enough=self.watch.enough,
            )
        except OSError as error:
            raise AgentFailed(agent=self.agent.title, what=error.strerror or str(error)) from error
        finally:
            deliver.tidy(self.desk, self.agent.name, resume)

    @property
    def sought(self) -> Sought:
        return Sought(
            agent=self.keeper,
            handoff="",
            project=Path(self.run.project),
            since=self.leg.since,
            text=self.said,
            besides=self.leg.besides,
        )

    def look(self) -> Arrival:
        found = arrival.look(self.sought, self.desk.env)
        self.transcript = found.id
        return found

    def look_at_files(self) -> object:
        files = arrival.state_of_files(self.sought, self.desk.env)
        if not self.transcript and files != self.files:
            self.look()
        self.files = files
        return files


def logs_of(desk: Desk, run: Run, leg: Leg) -> Path:
    """Folder with the output of a leg's program."""
    if leg.handoff:
        return handoff_records.folder_of(desk, leg.handoff)
    number = sum(not one.handoff for one in run.legs)
    return run_records.folder(desk, run.id) / f"start-{number}"


def arguments_for(run: Run, agent: str) -> tuple[str, ...]:
    return tuple(argument for name, argument in run.arguments if name == agent)


def travel(trip: Trip, watch: Watch) -> Outcome:
    """Run a later leg: a handoff, from its present state until its target ends."""
    trip.patience, trip.enough = watch.patience, watch.enough
    # Consent was settled before the run began.
    try:
        handoffs.travel(trip, may=lambda _handoff: False)
        found = trip.end()
    except (Stopped, NotArrived):
        return outcome(trip.desk, trip.agent.name, trip.ended, trip.found)
    stdout = trip.ended.output.stdout if trip.ended else ""
    return Outcome(transcript=found.id, reply=_kept(trip.desk, found.reply), stdout=stdout)


def _kept(desk: Desk, reply: str) -> str:
    """Reply for the run's record: redacted and truncated; the transcript has all of it."""
    return begun(exit_reason.clean(desk, reply[: 2 * LONGEST_REPLY]), LONGEST_REPLY)


def read_back(trip: Trip) -> Outcome:
    """Outcome of a finished handoff that a dead supervisor did not record."""
    found = trip.look()
    return Outcome(transcript=found.id, reply=_kept(trip.desk, found.reply))


def outcome(desk: Desk, agent: str, ended: Ended | None, found: Arrival) -> Outcome:
    """Outcome of a leg, from the program's output and the agent's transcript."""
    reply, stdout = _kept(desk, found.reply), ended.output.stdout if ended else ""
    is_cut = ended is not None and ended.by is End.ENOUGH
    if _is_done(found) and not is_cut and not exit_reason.is_in_trouble(desk, agent, ended):
        return Outcome(transcript=found.id, reply=reply, stdout=stdout)
    stop = _stop_of(desk, agent, ended, found)
    return Outcome(transcript=found.id, reply=reply, stop=stop, stdout=stdout)


def _is_done(found: Arrival) -> bool:
    return found.ending is Ending.ENDED and bool(found.reply)


def _stop_of(desk: Desk, agent: str, ended: Ended | None, found: Arrival) -> Stop:
    if ended is not None and ended.by is End.ENOUGH:
        return Stop(why=Why.ASKED)
    if ended is not None and ended.by is End.GIVEN_UP:
        return Stop(why=Why.HUNG, said="it stopped responding")
    stop = exit_reason.told_by(desk, agent, ended.output) if ended else None
    if stop is None and ended is not None and ended.exit_code == 0 and not found.has_handoff:
        # It may have done everything, so the task is not sent again.
        return Stop(why=Why.ASKED, said=NO_TRANSCRIPT)
    if found.ending is Ending.LIMIT and (stop is None or stop.limit is None):
        stop = Stop(why=Why.LIMIT, said=stop.said if stop else "", limit=_limit_in(desk, found))
    return stop or Stop(why=Why.CRASHED, said=exit_reason.clean(desk, _last_words(ended)))


def _limit_in(desk: Desk, found: Arrival) -> Limit | None:
    """Limit at which a transcript ends."""
    if found.source is None:
        return None
    hit: Limit | None = None
    for entry in agents.reader(found.source.agent).read(found.source):
        for limit in entry.limits:
            if (limit.used_percent or 0) >= HIT:
                hit = limit
    return hit


def _last_words(ended: Ended | None) -> str:
    if ended is None:
        return ""
    code = f"exit code {ended.exit_code}" if ended.exit_code is not None else ""
    said = ended.said.rpartition("\n")[2][:200]
    return ": ".join(part for part in (code, said if not said.startswith("{") else "") if part)
