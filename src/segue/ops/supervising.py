"""Supervising a run: start an agent, stay with it, find out why it stopped, and take the work on from there.

What to do next is decided in `segue.runs`; here it is done. Everything is on record before it is done, so a supervisor
that dies leaves a run that another can take up: what still runs is waited for, what was begun is looked for before it
is begun again.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

import msgspec

from segue import agents, clock, runs
from segue.delivery import Mode, Way
from segue.errors import AgentError, NotFound, SegueError
from segue.model import Handoff, Limit, Scope, Trigger, TriggerType, Urgency
from segue.ops import (
    children,
    found,
    handoffs,
    legs,
    limits,
    models,
    planning,
    prewarming,
    records,
    refresh,
    returning,
    running,
    sessions,
    spending,
)
from segue.ops.ahead import Ahead
from segue.ops.desk import Desk
from segue.ops.found import Work
from segue.ops.legs import Opening, Outcome, Watch
from segue.ops.planning import Order
from segue.ops.refresh import Pass
from segue.ops.trips import Trip
from segue.runs import Bar, Do, Leg, Move, Run, RunState
from segue.stop import Stop, Why

LOOK_SECONDS = 5.0
"""How often what was used is added up while an agent works."""
NAP_SECONDS = 0.5
Tell = Callable[[str], None]


class Supervisor:
    """One run, in the hands of one process."""

    def __init__(self, desk: Desk, run: Run, tell: Tell) -> None:
        self.desk = desk
        self.run = run
        self.say = tell
        self.reports: dict[str, tuple[Limit, ...]] = {}
        """What agents told of their limits while they worked, by their names."""
        self.looked_at = 0.0
        self.cut: Stop | None = None
        """Why the agent at work is being ended, if Segue does it."""
        self.cap = ""
        self.ahead = Ahead(desk, self.tell)

    def work(self) -> Run:
        """To the end of the run, or until it cannot go on."""
        leg = self.run.leg
        if leg is not None and leg.ended_at is None:
            self.tell(
                f"{self.title(leg.target)} had the task when the last supervisor ended: looking after it."
            )
            self.take_leg(leg)
        while (move := self.next_move()).do is not Do.END:
            self.make(move)
        return self.finish(move)

    def next_move(self) -> Move:
        if self.cap or (cap := self.is_over()):
            return Move(do=Do.END, state=RunState.CAPPED, why=self.cap or cap)
        if running.is_asked_to_stop(self.desk, self.run.id):
            return Move(do=Do.END, state=RunState.STOPPED, why="you stopped it")
        now = self.desk.clock()
        return runs.decide(self.run, self.bars(), now)

    def make(self, move: Move) -> None:
        if move.do is Do.WAIT:
            self.wait(move)
            return
        self.keep(state=RunState.WORKING, until=None, why="")
        leg = self.run.leg
        if move.do is Do.AGAIN and leg is not None:
            self.tell(f"{self.title(leg.target)} goes on where it left off.")
            self.change_leg(stop=None, ended_at=None)
        else:
            self.add_leg(move)
        if self.run.leg is not None:
            self.take_leg(self.run.leg, move)

    def finish(self, move: Move) -> Run:
        state = move.state or RunState.DONE
        self.keep(state=state, why=move.why, until=None, spent=self.spent())
        self.tell(f"The run is {state.value}" + (f": {move.why}." if move.why else "."))
        running.forget_stop(self.desk, self.run.id)
        return self.run

    # One leg

    def add_leg(self, move: Move) -> None:
        leg = Leg(target=move.target, started_at=self.desk.clock(), since=time.time_ns())
        self.keep(legs=(*self.run.legs, leg))

    def take_leg(self, leg: Leg, move: Move | None = None) -> None:
        """Let an agent have the task, and note how that ended."""
        self.cut, self.looked_at = None, time.monotonic()
        self.change_leg(tries=leg.tries + 1)
        try:
            outcome = self.travel(move)
        except AgentError as error:
            outcome = Outcome(stop=Stop(why=Why.REFUSED, said=str(error)))
        stop = self.cut if outcome.stop and outcome.stop.why is Why.ASKED and self.cut else outcome.stop
        self.change_leg(
            stop=stop,
            ended_at=self.desk.clock(),
            reply=outcome.reply,
            transcript=outcome.transcript or (self.run.leg.transcript if self.run.leg else ""),
        )
        self.note_session(outcome.transcript)
        self.keep(spent=self.spent())
        self.tell(self.how_it_ended(stop, outcome.reply))

    def travel(self, move: Move | None) -> Outcome:
        leg = self.run.leg
        if leg is None:
            return Outcome()
        watch = Watch(self.run.patience, self.enough)
        if not self.run.is_begun or (len(self.run.legs) == 1 and not leg.handoff):
            self.tell(f"{self.title(leg.target)} has the task.")
            return Opening(self.desk, self.run, leg, watch).travel()
        with handoffs.alone(self.desk, self.run.session, leg.target):
            handoff = self.handoff_for(leg, move)
            self.change_leg(handoff=handoff.id)
            self.tell(f"{self.title(leg.target)} gets the work (handoff {handoff.id}).")
            return legs.travel(Trip(self.desk, handoff, self.tell), watch)

    def handoff_for(self, leg: Leg, move: Move | None) -> Handoff:
        """The handoff of a leg: as it was begun, or a new one."""
        if leg.handoff:
            return records.get(self.desk, leg.handoff)
        refresh.refresh(self.desk, [Pass.SPENDS, Pass.ENTRIES])
        work = planning.work_here(self.desk, self.run.session)
        # A supervisor may have died between the handoff and the note of it.
        last = next(iter(self.desk.shared.handoffs_of(work.session.id)), None)
        if last and last.created_at >= leg.started_at and last.state in handoffs.UNFINISHED:
            return last
        out = self.way_home() if leg.target == self.run.home else None
        if out is not None:
            self.tell(f"Back to {self.title(leg.target)}: looking at what was done meanwhile.")
            handoff = returning.prepared(self.desk, self.order(leg, work), out)
            lines = records.receipt_of(self.desk, handoff).lines
            for line in lines:
                if line.fact.kind == "assertion":
                    self.tell(f"Nothing bears out: {line.fact.value}")
            return handoff
        return handoffs.prepare(self.desk, planning.plan(self.desk, self.order(leg, work), work))

    def way_home(self) -> Handoff | None:
        """The handoff by which the work left the preferred agent last, if its own transcript can be gone on with."""
        id = self.run.transcript_at_home
        for leg in reversed(self.run.legs):
            if not leg.handoff:
                continue
            handoff = records.get(self.desk, leg.handoff)
            if handoff.transcript == id and not handoff.returns and found.is_taken(handoff):
                return handoff
        return None

    def order(self, leg: Leg, work: Work) -> Order:
        address, agent, _program = planning.target_of(self.desk, leg.target)
        source = planning.source_of(work)
        is_same = source.agent == agent.name and (not address.model or leg.target == self.before)
        return Order(
            to=leg.target,
            mode=Mode.HEADLESS,
            session=self.run.session,
            arguments=legs.arguments_for(self.run, agent.name),
            anyway=True,
            anew=is_same,
            way=Way.NATIVE if is_same else None,
            into=prewarming.transcript_for(self.desk, self.run.id, leg.target, source.id),
            trigger=self.trigger(),
        )

    @property
    def before(self) -> str:
        """Who had the task before the present leg."""
        return self.run.legs[-2].target if len(self.run.legs) > 1 else ""

    def trigger(self) -> Trigger:
        """Why the present leg begins."""
        last = self.run.legs[-2] if len(self.run.legs) > 1 else None
        stop = last.stop if last else None
        if last is None or stop is None:
            reasoning = f"run {self.run.id}: the preferred agent is to have the last word"
            return Trigger(
                type=TriggerType.USER_REQUEST, confidence=1.0, reasoning=reasoning, urgency=Urgency.LOW
            )
        said = f": {stop.said}" if stop.said else ""
        kind = TriggerType.USAGE_LIMIT if stop.why in (Why.LIMIT, Why.CONTEXT) else TriggerType.OPTIMIZATION
        return Trigger(
            type=kind,
            confidence=1.0,
            reasoning=f"{self.title(last.target)} stopped ({stop.why.value}){said}",
            urgency=Urgency.HIGH,
        )

    def note_session(self, transcript: str) -> None:
        """After the first leg: the session that its transcript is the beginning of."""
        if self.run.session or not transcript:
            return
        refresh.refresh(self.desk, [Pass.SPENDS, Pass.ENTRIES])
        for work in found.works(self.desk):
            if any(one.id == transcript for one in work.transcripts):
                self.keep(session=sessions.keep(self.desk, work).id)
                return

    # While an agent works

    def enough(self) -> bool:
        """Whether the agent at work is to be ended: because the person says so, or because of what it has used."""
        if running.is_asked_to_stop(self.desk, self.run.id):
            self.cut = Stop(why=Why.ASKED, said="you stopped it")
            return True
        if time.monotonic() - self.looked_at < LOOK_SECONDS:
            return False
        try:
            self.look_closer()
        except (SegueError, OSError) as error:
            self.tell(f"note: what was used could not be added up: {error}")
        self.looked_at = time.monotonic()
        return self.cut is not None

    def look_closer(self) -> None:
        leg = self.run.leg
        if leg is None:
            return
        if (hopeless := self.hear(leg)) is not None:
            self.cut = hopeless
            return
        refresh.refresh(self.desk, [Pass.SPENDS, Pass.ENTRIES])
        spent = self.spent()
        self.run = running.save(self.desk, self.changed(spent=spent), is_lasting=False)
        self.cap = runs.over(self.run.caps, spent)
        bar = runs.by_week(self.run, leg.target, self.told()[leg.target], self.desk.clock())
        if self.cap:
            self.cut = Stop(why=Why.ASKED, said=self.cap)
        elif bar is not None:
            week = Limit(window="week", scope=Scope.ACCOUNT, resets_at=bar.until)
            self.cut = Stop(why=Why.LIMIT, said=bar.why, limit=week)
        else:
            self.cut = self.ahead.look(self.run, leg, self.told()[leg.target])

    def hear(self, leg: Leg) -> Stop | None:
        """What the agent has printed so far: what it tells of its limits, and whether it waits in vain."""
        name = records.agent_of(leg.target)
        output = children.output_of(legs.logs_of(self.desk, self.run, leg), None)
        tells = agents.offers(name, "reports_of")
        if tells and (told := tells(output.stdout, self.desk.clock())):
            self.reports[name] = told
        tells = agents.offers(name, "stop_of")
        stop: Stop | None = tells(output, self.desk.clock()) if tells else None
        return legs.without_secrets(self.desk, stop) if stop else None

    # What is known

    def bars(self) -> dict[str, Bar]:
        """Who of the chain may not be used now."""
        refresh.refresh(self.desk, [Pass.SPENDS, Pass.ENTRIES])
        missing: dict[str, Bar] = {}
        for target in self.run.chain:
            try:
                planning.target_of(self.desk, target)
            except AgentError as error:
                missing[target] = Bar(why=str(error).rstrip("."))
        return {**runs.bars(self.run, self.told(), self.desk.clock()), **missing}

    def told(self) -> dict[str, list[Limit]]:
        """What the agents of the chain have told of their limits."""
        known = {one.name: one.limits for one in limits.of_agents(self.desk)}
        found = {}
        for target in self.run.chain:
            name = records.agent_of(target)
            heard = self.reports.get(name, ())
            found[target] = [*(forecast.limit for forecast in known.get(name, ())), *heard]
        return found

    def spent(self) -> runs.Spent:
        ids = {leg.transcript for leg in self.run.legs if leg.transcript}
        ids |= prewarming.transcripts_of(self.desk, self.run.id)
        leg = self.run.leg
        if leg is not None and leg.handoff:
            delivery = records.get(self.desk, leg.handoff).delivery
            ids |= {delivery.transcript} if delivery else set()
        elif leg is not None and not leg.transcript:
            keeper = records.keeper_for(self.desk, records.agent_of(leg.target))
            ids |= spending.begun_since(self.desk, keeper, self.run.project, leg.started_at)
        seconds = clock.parse(self.desk.clock()) - clock.parse(self.run.created_at)
        return spending.of_transcripts(self.desk, ids, seconds.total_seconds())

    def is_over(self) -> str:
        return runs.over(self.run.caps, self.spent()) if self.run.caps != runs.Caps() else ""

    # Waiting

    def wait(self, move: Move) -> None:
        """Until a moment: nothing runs, and nothing is used."""
        if move.until is None:
            return
        self.keep(state=RunState.WAITING, until=move.until, why=f"{self.title(move.target)}: {move.why}")
        when = clock.parse(move.until).astimezone().strftime("%Y-%m-%d %H:%M:%S")
        self.tell(f"Waiting until {when} for {self.title(move.target)}: {move.why}.")
        while self.desk.clock() < move.until:
            if running.is_asked_to_stop(self.desk, self.run.id):
                return
            if self.run.caps.seconds is not None and self.is_over():
                return
            time.sleep(NAP_SECONDS)
        self.keep(state=RunState.WORKING, until=None, why="")

    # The record

    def changed(self, **fields: object) -> Run:
        return msgspec.structs.replace(self.run, **fields)

    def keep(self, **fields: object) -> None:
        self.run = running.save(self.desk, self.changed(**fields))

    def change_leg(self, **fields: object) -> None:
        leg = msgspec.structs.replace(self.run.legs[-1], **fields)
        self.keep(legs=(*self.run.legs[:-1], leg))

    def tell(self, text: str) -> None:
        running.log(self.desk, self.run.id, text)
        self.say(text)

    def title(self, target: str) -> str:
        with contextlib.suppress(NotFound):
            return records.title_of(str(models.resolve(self.desk, target)))
        return target

    def how_it_ended(self, stop: Stop | None, reply: str) -> str:
        leg = self.run.leg
        title = self.title(leg.target) if leg else ""
        if stop is None:
            return f"{title} says it is done:\n{reply.strip()}"
        said = f": {stop.said}" if stop.said else ""
        until = stop.limit.resets_at if stop.limit else None
        reset = f" (until {until[:16].replace('T', ' ')} UTC)" if until else ""
        return f"{title} stopped ({stop.why.value}){said}{reset}"
