"""One leg of a run: an agent has the task, headless, until it is done or stops; and why it stopped.

The first leg is the task as the person said it. Every later one is a handoff, and goes the way of all handoffs.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from segue import agents
from segue.agents.starting import Start
from segue.delivery import Mode
from segue.errors import AgentFailed, NotArrived, Stopped
from segue.model import Ending, Limit
from segue.ops import arrival, children, delivering, handoffs, planning, records, redaction, running
from segue.ops.arrival import Arrival, Sought
from segue.ops.children import End, Ended
from segue.ops.desk import Desk
from segue.ops.trips import GO_ON, Trip
from segue.runs import Leg, Run
from segue.stop import Stop, Why

RUN = "SEGUE_RUN"
"""The variable that tells an agent's own programs which run it works for."""
HIT = 100


class Outcome(Struct, frozen=True, kw_only=True):
    """How a leg ended; without a stop, the work is done."""

    stop: Stop | None = None
    transcript: str = ""
    reply: str = ""


class Watch(Struct, frozen=True):
    """How a leg is attended."""

    patience: float
    enough: Callable[[], bool]


class Opening:
    """The first leg."""

    def __init__(self, desk: Desk, run: Run, leg: Leg, watch: Watch) -> None:
        self.desk, self.run, self.leg, self.watch = desk, run, leg, watch
        self.address, self.agent, self.program = planning.target_of(desk, leg.target)
        self.keeper = records.keeper_for(desk, self.agent.name)
        self.logs = logs_of(desk, run, leg)
        self.said = delivering.spoken(self.keeper, run.task)

    def travel(self) -> Outcome:
        """From wherever it is to its end: it may have been begun before, by a Segue that is gone."""
        ended: Ended | None = None
        if children.is_running(self.logs):
            ended = children.wait(self.logs, self.look_at_files, self.watch.patience, self.watch.enough)
        elif not (found := self.look()).has_handoff:
            ended = self.start(self.said, "")
        elif not _is_done(found):
            ended = self.start(GO_ON, found.id)
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
            else delivering.new_id(self.agent.name, f"{self.logs.name} {self.leg.tries} {self.run.id}"),
            arguments=arguments_for(self.run, self.agent.name),
        )
        try:
            return children.run(
                agents.starter(self.agent.name).command(start, self.desk.env),
                mode=Mode.HEADLESS,
                folder=start.project,
                env={**self.desk.env, RUN: self.run.id},
                logs=self.logs,
                look=self.look_at_files,
                patience=self.watch.patience,
                enough=self.watch.enough,
            )
        except OSError as error:
            raise AgentFailed(agent=self.agent.title, what=error.strerror or str(error)) from error
        finally:
            delivering.tidy(self.desk, self.agent.name, resume)

    @property
    def sought(self) -> Sought:
        return Sought(
            agent=self.keeper,
            handoff="",
            project=Path(self.run.project),
            since=self.leg.since,
            text=self.said,
        )

    def look(self) -> Arrival:
        return arrival.look(self.sought, self.desk.env)

    def look_at_files(self) -> object:
        return arrival.state_of_files(self.sought, self.desk.env)


def logs_of(desk: Desk, run: Run, leg: Leg) -> Path:
    """Where the program of a leg leaves what it prints."""
    if leg.handoff:
        return desk.places.data / "runs" / leg.handoff
    begun = sum(not one.handoff for one in run.legs)
    return running.folder(desk, run.id) / f"start-{begun}"


def arguments_for(run: Run, agent: str) -> tuple[str, ...]:
    return tuple(argument for name, argument in run.arguments if name == agent)


def travel(trip: Trip, watch: Watch) -> Outcome:
    """A later leg: a handoff, from wherever it is to the end of its target's run."""
    trip.patience, trip.enough = watch.patience, watch.enough
    # What may go where was asked before the run began.
    try:
        handoffs.travel(trip, may=lambda _handoff: False)
        found = trip.end()
    except (Stopped, NotArrived):
        return outcome(trip.desk, trip.agent.name, trip.ended, trip.found)
    return Outcome(transcript=found.id, reply=found.reply)


def outcome(desk: Desk, agent: str, ended: Ended | None, found: Arrival) -> Outcome:
    """How a leg ended, by what the program printed and by its own records."""
    is_done = _is_done(found) and (ended is None or ended.exit_code in (0, None))
    stop = _stop_of(desk, agent, ended, found)
    if is_done and (stop is None or stop.why is Why.CRASHED):
        return Outcome(transcript=found.id, reply=found.reply)
    return Outcome(transcript=found.id, reply=found.reply, stop=stop or Stop(why=Why.CRASHED))


def _is_done(found: Arrival) -> bool:
    return found.ending is Ending.ENDED and bool(found.reply)


def _stop_of(desk: Desk, agent: str, ended: Ended | None, found: Arrival) -> Stop | None:
    if ended is not None and ended.by is End.ENOUGH:
        return Stop(why=Why.ASKED)
    if ended is not None and ended.by is End.GIVEN_UP:
        return Stop(why=Why.HUNG, said="it showed no sign of life")
    tells = agents.offers(agent, "stop_of")
    stop: Stop | None = tells(ended.output, desk.clock()) if tells and ended else None
    if found.ending is Ending.LIMIT and (stop is None or stop.limit is None):
        stop = Stop(why=Why.LIMIT, said=stop.said if stop else "", limit=_limit_in(desk, found))
    if stop is None:
        stop = Stop(why=Why.CRASHED, said=_last_words(ended))
    return without_secrets(desk, stop)


def without_secrets(desk: Desk, stop: Stop) -> Stop:
    """A program may quote a key in what it says."""
    return Stop(why=stop.why, said=redaction.redact(desk, stop.said).text, limit=stop.limit)


def _limit_in(desk: Desk, found: Arrival) -> Limit | None:
    """The limit that a transcript ends at."""
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
