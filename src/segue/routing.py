"""Routing of a supervised run: which agent of its chain works next, or why none can. Pure.

A leg is the time that one agent has the task. After a leg, the same agent tries again, the next available agent in
the chain takes over, the work returns to the first, or the run waits for a limit to reset. An agent that cannot be
used now is barred until a known time, or until somebody acts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

from segue.base import clock
from segue.base.clock import Moment
from segue.model import Limit, Scope, Value
from segue.model.exit_reason import Stop, Why
from segue.usage import budget

MOST_TRIES = 3
"""An agent is started this often for one leg before it is given up."""
MOST_LEGS = 50
"""A task that has changed hands this often is stuck."""
PAUSE_SECONDS = 20.0
"""The first pause for an overloaded vendor; it doubles each time."""
REST_SECONDS = 600.0
"""The pause after a vendor stayed overloaded."""
WEEK = 60
"""The default share of an agent's weekly limit, in per cent, from which on a run skips it."""
SHORT_SECONDS = 120.0
"""A leg that filled a context in less time made no progress."""
HIT = 100
FAILURES = {Why.CRASHED: "crashed", Why.HUNG: "hung", Why.CONTEXT: "filled its context"}


class RunState(StrEnum):
    WORKING = "working"
    WAITING = "waiting"
    DONE = "done"
    STOPPED = "stopped"
    CAPPED = "capped"
    FAILED = "failed"
    """No agent in the chain can continue."""


UNFINISHED = (RunState.WORKING, RunState.WAITING)


class Caps(Value, frozen=True):
    """The caps of a run; None for no cap."""

    usd: float | None = None
    tokens: int | None = None
    seconds: float | None = None
    """From its start, including waits."""
    week: int = WEEK
    """The share of its weekly limit, in per cent, from which on an agent is skipped."""


class Spent(Value, frozen=True):
    usd: float = 0.0
    tokens: int = 0
    seconds: float = 0.0
    unpriced: tuple[str, ...] = ()
    """Models without a known price: their usage is not in the money."""


class Leg(Value, frozen=True):
    """The time that one agent has the task."""

    target: str
    started_at: Moment
    since: int = 0
    """The moment from which on a transcript can be its own, in nanoseconds, by the file system's clock."""
    besides: tuple[str, ...] = ()
    """Transcripts of others, which were there before."""
    returns: bool = False
    """Whether it resumes the preferred agent's own conversation."""
    handoff: str = ""
    """The handoff that passed the task to it; empty for the first."""
    transcript: str = ""
    tries: int = 0
    """The number of starts for the same reason."""
    again: Why | None = None
    """Why it was started again, if it was."""
    stop: Stop | None = None
    """Why it stopped; None if it finished the work."""
    ended_at: Moment | None = None
    reply: str = ""
    refused: int = 0
    """The number of calls that were refused because no user was there to ask."""
    is_checked: bool = False
    """Whether it was checked since it ended."""
    broken: int = 0
    """How many of the user's prohibitions were broken in it."""
    unconfirmed: int = 0
    """How many of its claims could not be confirmed."""
    problem: str = ""
    """Why it could not be checked."""

    @property
    def is_done(self) -> bool:
        return self.ended_at is not None and self.stop is None


class Run(Value, frozen=True):
    id: str
    task: str
    chain: tuple[str, ...]
    """The agents that may work on it, the preferred one first."""
    project: str
    created_at: Moment
    updated_at: Moment
    state: RunState = RunState.WORKING
    session: str = ""
    caps: Caps = Caps()
    returns: bool = False
    """Whether the work returns to the preferred agent at the end, waiting for its limit."""
    prewarm: bool = False
    patience: float = 900.0
    """An agent may show no sign of life for this many seconds."""
    arguments: tuple[tuple[str, str], ...] = ()
    """The user's arguments for agents' programs: the agent, and one argument."""
    legs: tuple[Leg, ...] = ()
    until: Moment | None = None
    why: str = ""
    """Why it is in this state, as a sentence."""
    spent: Spent = Spent()
    taken_up_at: Moment | None = None
    """When the user last resumed it: agents that were barred before are tried again."""
    tree: str = ""
    """The git tree of the project's files when the first agent was started; empty where there is none."""

    @property
    def broken(self) -> int:
        """How many of the user's prohibitions were broken."""
        return sum(leg.broken for leg in self.legs)

    @property
    def doubts(self) -> str:
        """The reasons not to trust a finished run; empty without any."""
        counts = (
            (self.broken, "prohibition", "broken"),
            (sum(leg.unconfirmed for leg in self.legs), "claim", "not confirmed"),
            (sum(leg.refused for leg in self.legs), "call", "refused"),
        )
        told = [f"{n} {noun}{'' if n == 1 else 's'} {how}" for n, noun, how in counts if n]
        told += dict.fromkeys(f"not checked: {leg.problem}" for leg in self.legs if leg.problem)
        return ", ".join(told) if self.state is RunState.DONE else ""

    @property
    def home(self) -> str:
        return self.chain[0]

    @property
    def leg(self) -> Leg | None:
        return self.legs[-1] if self.legs else None

    @property
    def is_begun(self) -> bool:
        """Whether any agent has a transcript of it."""
        return any(leg.transcript for leg in self.legs)

    @property
    def transcript_at_home(self) -> str:
        """The preferred agent's own transcript, if there is one."""
        own = [leg.transcript for leg in self.legs if leg.target == self.home and leg.transcript]
        return own[0] if own else ""


class Bar(Value, frozen=True):
    """Why an agent is not used now, and until when; None: until somebody acts."""

    why: str
    until: Moment | None = None


class Do(StrEnum):
    START = "start"
    AGAIN = "again"
    HAND_OVER = "hand over"
    RETURN = "return"
    WAIT = "wait"
    END = "end"


class Move(Value, frozen=True):
    do: Do
    target: str = ""
    until: Moment | None = None
    state: RunState | None = None
    why: str = ""


# Barred agents


def bars(run: Run, told: Mapping[str, Sequence[Limit]], now: Moment) -> dict[str, Bar]:
    """The barred agents of the chain: by their reported limits, by their weekly share, and by their earlier legs."""
    found = {}
    for target in run.chain:
        bar = _by_limits(run, target, told.get(target, ()), now) or _by_legs(run, target, now)
        if bar is not None and (bar.until is None or bar.until > now):
            found[target] = bar
    return found


def _by_limits(run: Run, target: str, limits: Sequence[Limit], now: Moment) -> Bar | None:
    for limit in limits:
        is_hit = (limit.used_percent or 0.0) >= HIT
        if is_hit and holds_for(limit, target) and not budget.is_over(limit, now):
            return Bar(why=f"it is at its {limit.window} limit", until=limit.resets_at)
    week = week_used(run, target, limits, now)
    return Bar(why=week_in_words(run, week), until=week.resets_at) if week else None


def week_used(run: Run, target: str, limits: Sequence[Limit], now: Moment) -> Limit | None:
    """The weekly limit of which so much is used that this run skips the agent."""
    for limit in limits:
        is_running = limit.window == "week" and holds_for(limit, target) and not budget.is_over(limit, now)
        if is_running and (limit.used_percent or 0.0) >= run.caps.week:
            return limit
    return None


def week_in_words(run: Run, limit: Limit) -> str:
    return (
        f"{limit.used_percent or 0:.0f}% of its weekly limit is used, and this run stops at {run.caps.week}%"
    )


def holds_for(limit: Limit, target: str) -> bool:
    """Whether a limit applies to an address. Without a model in the address, only an account's limit does."""
    model = target.partition(":")[2]
    return limit.scope is Scope.ACCOUNT or bool(model and budget.holds_for(limit, model))


def _by_legs(run: Run, target: str, now: Moment) -> Bar | None:
    """The bar that the last legs of an agent impose on trying it again."""
    for leg in reversed(run.legs):
        if _agent(leg.target) != _agent(target) or leg.ended_at is None or _is_forgiven(run, leg):
            continue
        if leg.stop is None:
            return None
        bar = _by_stop(leg, leg.stop, target)
        if bar is None and leg.target == target:
            bar = _by_failures(run, target, leg.stop.why)
        if bar is not None or leg.target == target:
            return bar
    return None


def _is_forgiven(run: Run, leg: Leg) -> bool:
    """Whether the user has resumed the run since this leg. A known end of a limit stays."""
    is_known = leg.stop is not None and leg.stop.limit is not None and bool(leg.stop.limit.resets_at)
    return (leg.ended_at or "") < (run.taken_up_at or "") and not is_known


def _by_failures(run: Run, target: str, why: Why) -> Bar | None:
    """The bar on an agent that has failed in the same way too often."""
    if why not in FAILURES:
        return None
    own = [leg for leg in run.legs if leg.target == target and leg.stop and leg.stop.why is why]
    counted = [leg for leg in own if not _is_forgiven(run, leg) and _is_failure(leg)]
    times = sum(max(1, leg.tries) for leg in counted)
    return Bar(why=f"it {FAILURES[why]} {times} times") if times >= MOST_TRIES else None


def _is_failure(leg: Leg) -> bool:
    """A context that took its time to fill is not a failure."""
    if leg.stop is None or leg.stop.why is not Why.CONTEXT:
        return True
    return leg.ended_at is not None and leg.ended_at < clock.later(leg.started_at, SHORT_SECONDS)


def _by_stop(leg: Leg, stop: Stop, target: str) -> Bar | None:
    """The bar on an address after a stop: of the address itself, or of another model of the same agent."""
    is_same = leg.target == target
    match stop.why:
        case Why.LIMIT:
            limit = stop.limit
            if not is_same and (limit is None or not holds_for(limit, target)):
                return None
            window = f"its {limit.window} limit" if limit and limit.window else "a limit"
            until = limit.resets_at if limit else None
            if until is None:
                return Bar(why=f"it is at {window}, and did not report the reset")
            # Clocks differ: an agent that is still refused at the reset is not asked again at once.
            return Bar(
                why=f"it is at {window}", until=max(until, clock.later(leg.ended_at or "", pause_after(leg)))
            )
        case Why.REFUSED if is_same:
            return Bar(why=f"it cannot be used: {stop.said}" if stop.said else "it cannot be used")
        case Why.OVERLOADED if is_same:
            seconds = pause_after(leg) if leg.tries < MOST_TRIES else REST_SECONDS
            until = clock.later(leg.ended_at or "", seconds)
            named = stop.limit.resets_at if stop.limit else None
            return Bar(why="its vendor is overloaded", until=max(until, named) if named else until)
    return None


def pause_after(leg: Leg) -> float:
    return min(PAUSE_SECONDS * 2.0 ** max(0, leg.tries - 1), REST_SECONDS)


def _agent(target: str) -> str:
    return target.partition(":")[0]


# The next step


def decide(run: Run, barred: Mapping[str, Bar]) -> Move:
    """The next step, from the end of the last leg and the barred agents."""
    leg = run.leg
    if leg is None:
        return _first(run, barred)
    if leg.is_done:
        return _after_the_end(run, leg, barred)
    if leg.stop is None:
        return Move(do=Do.AGAIN, target=leg.target)
    if leg.stop.why is Why.ASKED:
        return _ended(RunState.STOPPED, leg.stop.said or "you stopped it")
    since = [one for one in run.legs if one.started_at >= (run.taken_up_at or "")]
    if len(since) >= MOST_LEGS:
        return _ended(RunState.FAILED, f"the task changed hands {len(since)} times")
    return _after_stop(run, leg, leg.stop, barred)


def _first(run: Run, barred: Mapping[str, Bar]) -> Move:
    for target in run.chain:
        if target not in barred:
            return Move(do=Do.START, target=target)
    return _nobody(run, barred)


def _after_the_end(run: Run, leg: Leg, barred: Mapping[str, Bar]) -> Move:
    """The work is done; the preferred agent may be asked to review it."""
    if not run.returns or leg.target == run.home or not run.transcript_at_home:
        return _ended(RunState.DONE)
    bar = barred.get(run.home)
    if bar is None:
        return Move(do=_way_to(run, run.home), target=run.home)
    if bar.until is not None:
        return Move(do=Do.WAIT, target=run.home, until=bar.until, why=bar.why)
    return _ended(RunState.DONE, f"{run.home} did not get the work back: {bar.why}")


def _after_stop(run: Run, leg: Leg, stop: Stop, barred: Mapping[str, Bar]) -> Move:
    is_free = leg.target not in barred
    if stop.why is Why.CRASHED and is_free:
        return Move(do=Do.AGAIN, target=leg.target)
    if stop.why is Why.OVERLOADED and leg.tries < MOST_TRIES:
        until = barred[leg.target].until if not is_free else None
        if until is None:
            return Move(do=Do.AGAIN, target=leg.target)
        return Move(do=Do.WAIT, target=leg.target, until=until, why="its vendor is overloaded")
    for target in run.chain:
        if target in barred:
            continue
        if target != leg.target:
            return Move(do=_way_to(run, target), target=target)
        if stop.why in (Why.LIMIT, Why.OVERLOADED):
            return Move(do=Do.AGAIN, target=target)
    if stop.why is Why.HUNG and is_free:
        return Move(do=Do.AGAIN, target=leg.target)
    if stop.why is Why.CONTEXT and is_free:
        # No other agent is available: the same agent starts afresh, with what fits.
        return Move(do=Do.HAND_OVER, target=leg.target)
    return _nobody(run, barred)


def _way_to(run: Run, target: str) -> Do:
    """How the work gets to another agent: if none has started it, as the original task."""
    if not run.is_begun:
        return Do.START
    own = [leg for leg in run.legs if leg.target == target]
    is_full = bool(own) and own[-1].stop is not None and own[-1].stop.why is Why.CONTEXT
    is_home = target == run.home and bool(run.transcript_at_home)
    return Do.RETURN if is_home and not is_full else Do.HAND_OVER


def _nobody(run: Run, barred: Mapping[str, Bar]) -> Move:
    """Wait for the first agent that becomes available; if none does, the run fails."""
    timed = [(bar.until, target) for target, bar in barred.items() if bar.until]
    if timed:
        until, target = min(timed)
        return Move(do=Do.WAIT, target=target, until=until, why=barred[target].why)
    reasons = [f"{target}: {bar.why}" for target, bar in barred.items()]
    if run.leg is not None and run.leg.stop is not None and run.leg.target not in barred:
        said = f" ({run.leg.stop.said})" if run.leg.stop.said else ""
        reasons.append(f"{run.leg.target}: it stopped: {run.leg.stop.why.value}{said}")
    return _ended(RunState.FAILED, "; ".join(reasons))


def _ended(state: RunState, why: str = "") -> Move:
    return Move(do=Do.END, state=state, why=why)


# Caps


def over(caps: Caps, spent: Spent) -> str:
    """The cap that is reached, in words; empty while none is."""
    if caps.usd is not None and spent.usd >= caps.usd:
        return f"it has used ${spent.usd:.2f} of ${caps.usd:.2f}"
    if caps.tokens is not None and spent.tokens >= caps.tokens:
        return f"it has used {spent.tokens:,} of {caps.tokens:,} tokens"
    if caps.seconds is not None and spent.seconds >= caps.seconds:
        return f"its time is over ({caps.seconds / 60:.0f} minutes)"
    return ""
