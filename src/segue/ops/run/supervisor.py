"""Supervisor of a run: start an agent, watch it, find out why it stopped, and continue with the next one.

`segue.routing` decides the next step. Each step is recorded before it is done, so another supervisor can take over if
this one dies: it waits for what still runs, and looks for what was started before it starts it again.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from segue import agents, routing
from segue.base import clock
from segue.errors import AgentError, NotFound, SegueError
from segue.model import Handoff, HandoffState, Limit, Trigger, TriggerType, Urgency
from segue.model.delivery import Mode, Way
from segue.model.exit_reason import Stop, Why
from segue.ops.common import addresses, exit_reason, process, tree
from segue.ops.common.desk import Desk
from segue.ops.handoff import arrival, handoff_records, handoffs, leases
from segue.ops.handoff import plan as handoff_plan
from segue.ops.handoff.execution import Tell, Trip
from segue.ops.handoff.plan import Order
from segue.ops.index import refresh
from segue.ops.index.refresh import Pass
from segue.ops.run import leg as run_leg
from segue.ops.run import prewarm, spend
from segue.ops.run.leg import Opening, Outcome, Watch
from segue.ops.run.lookahead import Ahead
from segue.ops.usage import limits
from segue.ops.verify import back, verify
from segue.ops.work import discovery, run_records, sessions
from segue.ops.work.discovery import Work
from segue.routing import Bar, Do, Leg, Move, Run, RunState

FOUND = {"violation": "Prohibition broken", "assertion": "Not confirmed"}
"""Log text for each finding in a leg."""
SLACK_NS = 3600 * 10**9
"""Tolerance for the clock that stamps files. Transcripts that existed before are excluded by name."""
ENDED = (HandoffState.COMPLETED, HandoffState.VALIDATED)
NAP_SECONDS = 0.5


class Supervisor:
    """Supervisor of one run."""

    def __init__(self, desk: Desk, run: Run, tell: Tell) -> None:
        self.desk = desk
        self.run = run
        self.say = tell
        self.reports: dict[str, tuple[Limit, ...]] = {}
        """Limits that agents reported while they worked, by agent."""
        self.cut: Stop | None = None
        """Why Segue is ending the agent at work, if it is."""
        self.unpriced: set[str] = set()
        self.at_work: Callable[[], str] = str
        """Returns the transcript id of the agent at work, as soon as there is one."""
        self.is_over = process.seldom(self.look_closer)
        self.ahead = Ahead(desk, self.tell)

    def work(self) -> Run:
        """Supervise the run until it ends or cannot continue."""
        leg = self.run.leg
        if leg is not None and leg.ended_at is None:
            self.tell(f"{self.title(leg.target)} is already working on the task. Following it.")
            self.take_leg()
        while (move := self.next_move()).do is not Do.END:
            self.make(move)
        return self.finish(move)

    def next_move(self) -> Move:
        move = routing.decide(self.run, self.bars())
        if move.state in (RunState.DONE, RunState.FAILED):
            return move  # a finished run is not capped
        if run_records.is_asked_to_stop(self.desk, self.run.id):
            return Move(do=Do.END, state=RunState.STOPPED, why="you stopped it")
        cap = routing.over(self.run.caps, self.spent())
        return Move(do=Do.END, state=RunState.CAPPED, why=cap) if cap else move

    def make(self, move: Move) -> None:
        if self.run.leg is not None and move.target != self.run.leg.target:
            self.check_legs()
        if move.do is Do.WAIT:
            self.wait(move)
            return
        self.keep(state=RunState.WORKING, until=None, why="")
        leg = self.run.leg
        if move.do is Do.AGAIN and leg is not None and leg.stop is not None:
            self.tell(f"{self.title(leg.target)} continues where it left off.")
            self.change_leg(stop=None, ended_at=None, again=leg.stop.why, tries=leg.tries + 1)
        else:
            self.add_leg(move)
        self.take_leg()

    def finish(self, move: Move) -> Run:
        state = move.state or RunState.DONE
        self.ahead.end()
        if state is RunState.DONE:
            self.check_legs()
        free(self.desk, self.run)
        self.keep(state=state, why=move.why, until=None, spent=self.spent())
        doubts = f", {self.run.doubts}" if self.run.doubts else ""
        self.tell(f"The run is {state.value}{doubts}" + (f": {move.why}." if move.why else "."))
        run_records.forget_stop(self.desk, self.run.id)
        return self.run

    def check_legs(self) -> None:
        """Verify every leg that has ended, before another agent changes the files."""
        checked = [
            leg if leg.is_checked or leg.ended_at is None else self.check(leg) for leg in self.run.legs
        ]
        self.keep(legs=tuple(checked))

    def check(self, leg: Leg) -> Leg:
        """Verify a leg against files, repository and transcript."""
        leg = msgspec.structs.replace(leg, is_checked=True, broken=0, unconfirmed=0, problem="")
        try:
            if not (
                discovery.is_taken(handoff_records.get(self.desk, leg.handoff))
                if leg.handoff
                else leg.transcript
            ):
                return leg  # it never had the work
            verified = verify.verify(
                self.desk,
                since=leg.handoff or None,
                transcript=None if leg.handoff else leg.transcript,
                run_tests=None if leg.is_done else False,
            )
        except SegueError as error:
            self.tell(f"{self.title(leg.target)} was not checked: {error}")
            return msgspec.structs.replace(leg, problem=str(error).rstrip("."))
        for fact in verify.facts_for_brief(verified):
            self.tell(f"{FOUND[fact.kind]}: {fact.value}")
        for line in verified.changed:
            self.tell(line)
        if verified.problem:
            self.tell(f"{self.title(leg.target)} was not checked: {verified.problem}")
        return msgspec.structs.replace(
            leg,
            broken=len(verified.violations),
            unconfirmed=len(verified.unsupported),
            problem=verified.problem.rstrip("."),
        )

    # One leg

    def add_leg(self, move: Move) -> None:
        self.check_legs()
        project = Path(self.run.project)
        if not self.run.legs and (stock := tree.snapshot(project, self.desk.places.data, self.desk.env)):
            self.keep(tree=stock.tree)
        since = time.time_ns() - SLACK_NS
        keeper = handoff_records.keeper_for(self.desk, handoff_records.agent_of(move.target))
        leg = Leg(
            target=move.target,
            started_at=self.desk.clock(),
            since=since,
            besides=arrival.there_since(keeper, project, since, self.desk.env),
            returns=move.do is Do.RETURN,
            tries=1,
        )
        self.keep(legs=(*self.run.legs, leg))

    def take_leg(self) -> None:
        """Run the last leg and record its outcome."""
        self.cut, self.is_over = None, process.seldom(self.look_closer)
        try:
            outcome = self.travel()
        except AgentError as error:
            outcome = Outcome(stop=Stop(why=Why.REFUSED, said=exit_reason.clean(self.desk, str(error))))
        leg = self.run.legs[-1]
        stop = self.cut if outcome.stop and outcome.stop.why is Why.ASKED and self.cut else outcome.stop
        is_other = stop is not None and leg.again is not None and leg.again is not stop.why
        self.change_leg(
            stop=stop,
            ended_at=self.desk.clock(),
            is_checked=False,
            reply=outcome.reply,
            transcript=outcome.transcript or leg.transcript,
            tries=1 if is_other else leg.tries,
        )
        self.note_session(outcome.transcript)
        self.keep(spent=self.spent())
        run_records.log(self.desk, self.run.id, self.how_it_ended(stop, outcome.reply))
        self.say(self.how_it_ended(stop))
        self.tell_denied(outcome.stdout)

    def travel(self) -> Outcome:
        leg = self.run.legs[-1]
        watch = Watch(self.run.patience, self.enough)
        if not leg.handoff and not any(before.transcript for before in self.run.legs[:-1]):
            return self.open(leg, watch)
        with handoffs.alone(self.desk, self.run.session, leg.target):
            handoff = self.handoff_for(leg)
            self.change_leg(handoff=handoff.id)
            trip = Trip(self.desk, handoff, self.tell)
            self.at_work = lambda: trip.delivery.transcript if trip.delivery.has_arrived else ""
            if handoff.state in ENDED:
                return run_leg.read_back(trip)
            self.tell(f"{self.title(leg.target)} gets the work (handoff {handoff.id}).")
            return run_leg.travel(trip, watch)

    def open(self, leg: Leg, watch: Watch) -> Outcome:
        """Run the first leg with the task as the user wrote it."""
        opening = Opening(self.desk, self.run, leg, watch)
        self.at_work = lambda: opening.transcript
        project = Path(self.run.project)
        self.tell(f"{self.title(leg.target)} gets the task.")
        leases.take(self.desk, project, self.run.id, opening.agent.title)
        try:
            return opening.travel()
        finally:
            leases.give_back(self.desk, project, self.run.id)

    def handoff_for(self, leg: Leg) -> Handoff:
        """Handoff of a leg: the one that was started, or a new one if that failed."""
        if leg.handoff:
            begun = handoff_records.get(self.desk, leg.handoff)
            if begun.state in (*handoffs.UNFINISHED, *ENDED):
                return begun
        refresh.refresh(self.desk, [Pass.SPENDS, Pass.ENTRIES])
        work = handoff_plan.work_here(self.desk, self.run.session)
        # A supervisor may have died between the handoff and the note of it.
        last = next(iter(self.desk.shared.handoffs_of(work.session.id)), None)
        is_new = last is not None and last.created_at >= leg.started_at and last.target == leg.target
        if last and is_new and last.state in handoffs.UNFINISHED:
            return last
        out = self.way_home() if leg.returns else None
        if out is None:
            plan = handoff_plan.plan(self.desk, self.order(leg, work), work)
            return handoffs.prepare(self.desk, plan, self.tell)
        self.tell(f"Back to {self.title(leg.target)}. Checking what was done in the meantime.")
        return back.prepared(self.desk, self.order(leg, work), self.tell, out)

    def way_home(self) -> Handoff | None:
        """Handoff by which the work last left the preferred agent, if its transcript can be resumed."""
        id = self.run.transcript_at_home
        for leg in reversed(self.run.legs):
            if not leg.handoff:
                continue
            handoff = handoff_records.get(self.desk, leg.handoff)
            if handoff.transcript == id and not handoff.returns and discovery.is_taken(handoff):
                return handoff
        return None

    def order(self, leg: Leg, work: Work) -> Order:
        address, agent, _program = handoff_plan.target_of(self.desk, leg.target)
        source = handoff_plan.source_of(work)
        is_same = source.agent == agent.name and (not address.model or leg.target == self.before)
        return Order(
            to=leg.target,
            mode=Mode.HEADLESS,
            session=self.run.session,
            arguments=run_leg.arguments_for(self.run, agent.name),
            anyway=True,
            allow_same=is_same,
            way=Way.NATIVE if is_same else None,
            into=prewarm.transcript_for(self.desk, self.run.id, leg.target, source.id),
            trigger=self.trigger(),
        )

    @property
    def before(self) -> str:
        """Target of the previous leg."""
        return self.run.legs[-2].target if len(self.run.legs) > 1 else ""

    def trigger(self) -> Trigger:
        """Trigger of the present leg."""
        last = self.run.legs[-2] if len(self.run.legs) > 1 else None
        stop = last.stop if last else None
        if last is None or stop is None:
            reasoning = f"run {self.run.id}: the preferred agent finishes the work"
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
        """Record the session that the first leg's transcript started."""
        if self.run.session or not transcript:
            return
        refresh.refresh(self.desk, [Pass.SPENDS, Pass.ENTRIES])
        for work in discovery.works(self.desk):
            if any(one.id == transcript for one in work.transcripts):
                self.keep(session=sessions.keep(self.desk, work).id)
                return

    # While an agent works

    def enough(self) -> bool:
        """Whether the agent at work must be ended: by the user's request or by a cap."""
        if run_records.is_asked_to_stop(self.desk, self.run.id):
            self.cut = Stop(why=Why.ASKED, said="you stopped it")
            return True
        return self.is_over()

    def look_closer(self) -> bool:
        """Update the spending. Returns whether the agent at work must be ended."""
        try:
            self.add_up()
        except (SegueError, OSError) as error:
            self.tell(f"note: could not update the tokens and money used: {error}")
        return self.cut is not None

    def add_up(self) -> None:
        leg, known = self.run.legs[-1], self.at_work()
        name = handoff_records.agent_of(leg.target)
        output = process.output_of(run_leg.logs_of(self.desk, self.run, leg), None)
        if (tells := agents.load(name).reports_of) and (told := tells(output.stdout, self.desk.clock())):
            self.reports[name] = told
        if (in_vain := exit_reason.told_by(self.desk, name, output)) is not None:
            self.cut = in_vain  # it can no longer succeed
            return
        refresh.refresh(self.desk, [Pass.SPENDS, Pass.ENTRIES])
        if known and known != leg.transcript:
            self.change_leg(transcript=known)
        self.run = run_records.save(self.desk, self.changed(spent=self.spent()), is_lasting=False)
        self.tell_unpriced()
        limits_told = self.told()
        week = routing.week_used(self.run, leg.target, limits_told[leg.target], self.desk.clock())
        if cap := routing.over(self.run.caps, self.run.spent):
            self.cut = Stop(why=Why.ASKED, said=cap)
        elif week is not None:
            self.cut = Stop(why=Why.LIMIT, said=routing.week_in_words(self.run, week), limit=week)
        else:
            self.cut = self.ahead.look(self.run, limits_told[leg.target], self.bars())

    def tell_unpriced(self) -> None:
        unknown = set(self.run.spent.unpriced) - self.unpriced
        if unknown and self.run.caps.usd is not None:
            self.tell(
                f"note: no price is known for {', '.join(sorted(unknown))}; its tokens are not included in the money."
            )
        self.unpriced |= unknown

    # State of the chain

    def bars(self) -> dict[str, Bar]:
        """Agents of the chain that cannot be used now, with the reason."""
        refresh.refresh(self.desk, [Pass.SPENDS, Pass.ENTRIES])
        missing: dict[str, Bar] = {}
        for target in self.run.chain:
            try:
                handoff_plan.target_of(self.desk, target)
            except AgentError as error:
                missing[target] = Bar(why=str(error).rstrip("."))
        return {**routing.bars(self.run, self.told(), self.desk.clock()), **missing}

    def told(self) -> dict[str, list[Limit]]:
        """Limits that the agents of the chain have reported."""
        known = {one.name: one.limits for one in limits.of_agents(self.desk)}
        found = {}
        for target in self.run.chain:
            name = handoff_records.agent_of(target)
            heard = self.reports.get(name, ())
            found[target] = [*(forecast.limit for forecast in known.get(name, ())), *heard]
        return found

    def spent(self) -> routing.Spent:
        ids = {leg.transcript for leg in self.run.legs if leg.transcript}
        ids |= prewarm.transcripts_of(self.desk, self.run.id)
        return spend.of_transcripts(self.desk, ids, self.seconds())

    def seconds(self) -> float:
        return (clock.parse(self.desk.clock()) - clock.parse(self.run.created_at)).total_seconds()

    # Waiting

    def wait(self, move: Move) -> None:
        """Wait until a limit resets, the user stops the run, or its time is up."""
        if move.until is None:
            return
        self.keep(state=RunState.WAITING, until=move.until, why=f"{self.title(move.target)}: {move.why}")
        when = clock.parse(move.until).astimezone().strftime("%Y-%m-%d %H:%M %Z")
        self.tell(f"Waiting until {when} for {self.title(move.target)}: {move.why}.")
        while self.desk.clock() < move.until:
            if run_records.is_asked_to_stop(self.desk, self.run.id):
                return
            if self.run.caps.seconds is not None and self.seconds() >= self.run.caps.seconds:
                return
            time.sleep(NAP_SECONDS)
        self.keep(state=RunState.WORKING, until=None, why="")

    # The record

    def changed(self, **fields: object) -> Run:
        return msgspec.structs.replace(self.run, **fields)

    def keep(self, **fields: object) -> None:
        self.run = run_records.save(self.desk, self.changed(**fields))

    def change_leg(self, **fields: object) -> None:
        leg = msgspec.structs.replace(self.run.legs[-1], **fields)
        self.keep(legs=(*self.run.legs[:-1], leg))

    def tell(self, text: str) -> None:
        run_records.log(self.desk, self.run.id, text)
        self.say(text)

    def title(self, target: str) -> str:
        with contextlib.suppress(NotFound):
            return handoff_records.title_of(str(addresses.resolve(self.desk, target)))
        return target

    def tell_denied(self, stdout: str) -> None:
        """Report tool calls that were denied because nobody could approve them: they explain missing work."""
        leg = self.run.legs[-1]
        name = handoff_records.agent_of(leg.target)
        denied = agents.load(name).denied_in
        if denied and (tools := denied(stdout)):
            self.change_leg(refused=leg.refused + len(tools))
            times = f"{len(tools)} call{'s' if len(tools) > 1 else ''} ({', '.join(sorted(set(tools)))})"
            permit = agents.load(name).PERMITTING
            hint = f"; --pass {name}={permit} allows edits" if permit else ""
            self.tell(
                f"{self.title(leg.target)} was denied {times}, because nobody could approve them{hint}."
            )

    def how_it_ended(self, stop: Stop | None, reply: str = "") -> str:
        leg = self.run.leg
        title = self.title(leg.target) if leg else ""
        if stop is None:
            return f"{title} says it is done" + (f":\n{reply.strip()}" if reply else ".")
        if stop.why is Why.ASKED:
            return f"{title} was ended: {stop.said}"
        said = f": {stop.said}" if stop.said else ""
        until = stop.limit.resets_at if stop.limit else None
        reset = f" (until {clock.parse(until).astimezone().strftime('%H:%M %Z')})" if until else ""
        return f"{title} stopped ({stop.why.value}){said}{reset}"


def free(desk: Desk, run: Run) -> None:
    """Release the worktree that a run held."""
    for holder in (run.id, run.leg.handoff if run.leg else ""):
        if holder:
            leases.give_back(desk, Path(run.project), holder)
