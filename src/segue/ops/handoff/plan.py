"""Plan of a handoff: target, delivery, content, tokens and cost. Nothing is sent. A target's program is started only to
ask its version, if it has changed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Struct

from segue import agents, redact
from segue import conversation as conversations
from segue.agents.shared.settings import project_config
from segue.base import paths
from segue.briefs import drift, prompt, tokens
from segue.briefs.tokens import Counter
from segue.errors import AtLimit, NotFound, NotInstalled, Refused
from segue.model import (
    Agent,
    Fact,
    Limit,
    Preserve,
    Scope,
    SessionStatus,
    Tier,
    Tokens,
    Transcript,
    Trigger,
    Usage,
)
from segue.model.conversation import Conversation
from segue.model.delivery import Claims, Mode, Way
from segue.ops.briefs import make
from segue.ops.briefs.make import Made, Wish
from segue.ops.common import addresses, git, program_version, redaction
from segue.ops.common.addresses import Address
from segue.ops.common.desk import Desk
from segue.ops.handoff import consent, handoff_records
from segue.ops.index import provenance, refresh
from segue.ops.index.tracked_transcript import Warm
from segue.ops.usage import folder_status, limits
from segue.ops.usage.limits import AgentLimits
from segue.ops.work import discovery, sessions
from segue.ops.work.discovery import Work
from segue.usage import budget, prices

SHORT = 2000
"""Brief's budget for a target that has the conversation already."""
FULLEST = 0.75
"""Largest filled share of a context that is resumed."""
BACK = "back"
"""Target of a request to return the work to where it came from."""
ASKED_FOR = "asked for"
"""Reason recorded for a delivery that the user chose."""
PASSES_CONVERSATION = (Tier.FULL, Tier.SELECTIVE)


class Order(Struct, frozen=True, kw_only=True):
    """Handoff that the user requests."""

    to: str
    mode: Mode = Mode.OPEN
    reason: str = ""
    preserve: Preserve | None = None
    budget: int | None = None
    """Brief's budget in tokens; None for one that fits the delivery and the target."""
    way: Way | None = None
    """Required delivery; None for the best one available."""
    session: str | None = None
    arguments: tuple[str, ...] = ()
    """Arguments for the target's program, as typed."""
    prove: bool = False
    anyway: bool = False
    """Hand over even if the target reports that it is at its limit."""
    allow_same: bool = False
    """Allow a handoff to the agent that has the work already."""
    into: str = ""
    """Transcript of the target to resume, because it has the context already."""
    trigger: Trigger | None = None
    """Trigger, if the user did not request the handoff."""


class Plan(Struct, frozen=True, kw_only=True, dict=True):
    """Everything that is known before a handoff is prepared."""

    order: Order
    work: Work
    source: Transcript
    target: Address
    agent: Agent
    program: str
    way: Way
    why: str
    tier: Tier
    made: Made
    conversation: Conversation
    dropped: int
    """Number of turns that did not fit."""
    tokens: int
    counter: str
    cost_usd: float | None
    redacted: int
    not_passed: tuple[str, ...]
    instructions: tuple[tuple[str, str], ...]
    vendor: str
    is_allowed: bool
    """Whether the vendor may have it without asking the user."""
    trigger: Trigger
    folder: str
    """Folder in which the target starts."""
    resumes: str = ""
    """Transcript of the target that is resumed."""
    returns: str = ""
    """Handoff that this one returns from."""
    claims: Claims | None = None
    """For a return: result of checking the claims."""
    find_drift: Callable[[], tuple[str, ...]]

    @functools.cached_property
    def drift(self) -> tuple[str, ...]:
        """How the folder differs from the brief; computed only when it is shown."""
        return self.find_drift()

    @property
    def target_title(self) -> str:
        model = agents.model_title(self.target.model) if self.target.model else ""
        return f"{self.agent.title} ({model})" if model else self.agent.title

    @property
    def source_title(self) -> str:
        return agents.get(self.source.agent).title


def work_here(desk: Desk, id: str | None) -> Work:
    """Session with this id, or this folder's."""
    work = sessions.get(desk, id) if id else sessions.current(desk)
    if work is None:
        raise NotFound(
            noun="session of this folder",
            name=paths.as_text(desk.project),
            next="start an agent in this folder first; segue transcripts lists all conversations",
        )
    if work.session.status is not SessionStatus.OPEN:
        raise Refused(
            what=f"Session {work.session.id} is closed.",
            next="segue undo opens it again if closing it was the last step",
        )
    refuse_unused(desk, work)
    return work


def refuse_unused(desk: Desk, work: Work) -> None:
    """Refuse work whose latest transcript is unused, because an older one would be taken instead."""
    last = discovery.last_delivered(desk.shared.handoffs_of(work.session.id)) if work.is_kept else None
    if last is None or last.delivery is None or last.delivery.transcript in {t.id for t in work.transcripts}:
        return
    agent, path = handoff_records.keeper_of(desk, last), last.delivery.path
    doubt = provenance.doubts(desk, [(agent, path)]).get(path) if path else None
    if doubt and paths.is_there(Path(path)):
        unused = refresh.Unused(agent, path, *doubt)
        raise Refused(
            what=f"Handoff {last.id} took the work to {path}, which is not used: {unused.why}.",
            next=unused.next or provenance.UNTRACK,
        )


def source_of(work: Work) -> Transcript:
    """Transcript that the work is in."""
    if work.main is not None:
        return work.main
    raise Refused(
        what=f"No agent has worked in this folder yet: session {work.session.id} has no transcript.",
        next=f"start an agent here, or add one with segue session link {work.session.id} TRANSCRIPT",
    )


def folder_of(desk: Desk, transcript: Transcript) -> str:
    """Folder in which the target works: that of the transcript, if it still exists."""
    folder = transcript.project
    return folder if folder and Path(folder).is_dir() else paths.as_text(desk.project)


def target_of(desk: Desk, to: str) -> tuple[Address, Agent, str]:
    """Target's address, agent and program."""
    address = addresses.resolve(desk, to)
    agent = agents.get(address.agent)
    agents.starter(agent.name)
    program = agents.program_of(agent.name, desk.env)
    if program is None:
        needed = agents.load(agent.name).CARRIERS or (agent.program or agent.name,)
        raise NotInstalled(agent=agent.title, program="' or '".join(needed), kept="nothing was changed")
    return address, agent, program


def plan(desk: Desk, order: Order, work: Work | None = None) -> Plan:
    work = work or work_here(desk, order.session)
    source = source_of(work)
    address, agent, program = target_of(desk, order.to)
    if not order.allow_same:
        refuse_same(source, address, agent)
    if check := agents.load(agent.name).check_model:
        check(address.model, desk.env)
    told = limits.of_agents(desk)
    if not order.anyway:
        refuse_at_limit(told, agent, address.model)
    tier = (order.preserve or desk.settings.handoff_preserve).tier
    known = make.open_known(desk, source.id)
    window = window_of(desk, agent, address.model)
    way, why = way_for(order, source, agent, tier, window)
    if way is Way.NATIVE and (unknown := program_version.why_unknown(desk, agent, program)):
        way, why = Way.PROMPT, unknown
    earlier = facts_before(desk, work, source)
    made = made_for(desk, known, wish_for(way, tier, agent, order.budget), order.budget, window, earlier)
    counter = tokens.remembering(tokens.estimated(agent.vendor))
    # A copy that is asked questions cannot resume, so it gets the conversation.
    is_carried = way is Way.NATIVE or (way is Way.RESUME and order.prove)
    conversation, dropped, hidden = (
        carried(desk, known, tier, counter, window, source) if is_carried else (Conversation(), 0, set())
    )
    above = sum(conversations.weight(turn, counter) for turn in conversation.turns)
    count = made.brief.tokens + ((source.context_tokens or 0) if way is Way.RESUME else above)
    folder = folder_of(desk, source)
    files, lost = travelling(desk, source.agent, agent, Path(folder))
    count += sum(counter.count(text) for _, text in files)
    vendor = consent.vendor_of(desk, str(address))
    return Plan(
        order=order,
        work=work,
        source=source,
        target=address,
        agent=agent,
        program=program,
        way=way,
        why=why,
        tier=tier,
        made=made,
        conversation=conversation,
        dropped=dropped,
        tokens=count,
        counter=counter.name,
        cost_usd=cost_of(desk, agent, address.model, count),
        redacted=len(hidden.union(made.placeholders)),
        not_passed=(*made.brief.not_passed, *lost, *_left_behind(way, dropped)),
        instructions=files,
        find_drift=lambda: drift_of(desk, known.facts(), source, Path(folder)),
        vendor=vendor,
        is_allowed=consent.is_given(desk, folder, vendor, consent.vendor_before(source)),
        trigger=trigger_for(desk, work, order, told),
        folder=folder,
        resumes=(order.into or source.id) if way is Way.RESUME else "",
    )


def made_for(
    desk: Desk, known: Warm, wish: Wish, asked: int | None, window: int, earlier: tuple[Fact, ...]
) -> Made:
    """Make the brief. Without a budget from the user, it grows until everything that must not be lost fits."""
    budgets = [wish.budget] if asked or wish.budget is None else [wish.budget, window // 8, window // 2]
    return make.long_enough(
        budgets,
        lambda most: make.of_known(desk, known, msgspec.structs.replace(wish, budget=most), earlier=earlier),
    )


def facts_before(desk: Desk, work: Work, source: Transcript) -> tuple[Fact, ...]:
    """Facts that the source agent received with its own handoff; its transcript may not show all of them."""
    handoffs = desk.shared.handoffs_of(work.session.id) if work.is_kept else []
    handoff = discovery.last_to(handoffs, source.id)
    return tuple(line.fact for line in handoff_records.receipt_of(desk, handoff).lines) if handoff else ()


def refuse_same(source: Transcript, target: Address, agent: Agent) -> None:
    """Refuse to hand work to the agent and model that have it."""
    is_same_model = not target.model or (source.model and budget.is_of_family(source.model, target.model))
    if source.agent == agent.name and is_same_model:
        raise Refused(
            what=f"This work is in {agent.title} already (transcript {source.id}).",
            next="segue to AGENT:MODEL switches the model; segue to AGENT switches the agent",
        )


def refuse_at_limit(told: list[AgentLimits], agent: Agent, model: str) -> None:
    known = next((each for each in told if each.name == agent.name), None)
    for each in known.limits if known else ():
        limit = each.limit
        if (limit.used_percent or 0) < limits.HIT:
            continue
        # Without a named model, it is unknown whether a limit of one model applies.
        if limit.scope is Scope.ACCOUNT or (model and budget.holds_for(limit, model)):
            raise AtLimit(
                agent=agent.title,
                limit=_limit_in_words(limit),
                until=f" until {limit.resets_at[:16].replace('T', ' ')} UTC" if limit.resets_at else "",
                scope="; switching models won't help, because the limit covers the whole account"
                if limit.scope is Scope.ACCOUNT
                else "",
                next="segue status shows what each agent has left; --anyway hands over anyway",
            )


def _limit_in_words(limit: Limit) -> str:
    of = f" of {limit.model}" if limit.scope is Scope.MODEL and limit.model else ""
    return f"its {limit.window} limit{of}"


def way_for(order: Order, source: Transcript, agent: Agent, tier: Tier, window: int) -> tuple[Way, str]:
    """Best available delivery, and why a better one is not possible."""
    if order.into:
        return Way.RESUME, ""
    if order.way is Way.PROMPT:
        return Way.PROMPT, ASKED_FOR
    if tier not in PASSES_CONVERSATION:
        return Way.PROMPT, f"the tier {tier.value} passes no conversation"
    if source.agent == agent.name and order.way is not Way.NATIVE:
        if (source.context_tokens or 0) + SHORT <= FULLEST * window:
            return Way.RESUME, ""
        why = "its own transcript fills too much of the context to be resumed"
    else:
        why = ""
    if agents.writer(agent.name) is None:
        return Way.PROMPT, f"Segue cannot write transcripts for {agent.title}"
    return Way.NATIVE, why


def wish_for(way: Way, tier: Tier, agent: Agent, budget: int | None) -> Wish:
    """Request for the brief: shorter if the target has the conversation."""
    if way is Way.RESUME:
        return Wish(Tier.SELECTIVE, budget or SHORT, agent.name, in_haste=True)
    budget = budget or (make.BUDGET if way is Way.NATIVE else None)
    wish = Wish(tier, budget, agent.name, in_haste=True)
    make.refuse_impossible(wish)
    return wish


def window_of(desk: Desk, agent: Agent, model: str) -> int:
    price = prices.look_up(model, desk.clock()) if model else None
    return (price.context_window if price else None) or agent.context_window or make.WINDOW


def carried(
    desk: Desk, known: Warm, tier: Tier, counter: Counter, window: int, source: Transcript
) -> tuple[Conversation, int, set[str]]:
    """Conversation to carry, the number of dropped turns, and the placeholders in it."""
    room = max(window // (2 if tier is Tier.FULL else 4) - make.BUDGET, window // 8)
    key, allow = redaction.key(desk), desk.settings.redact_allow
    seen = redact.Known(known.tracker.heat.secrets, key, allow)
    placeholders: set[str] = set()

    def clean(text: str) -> str:
        text, found = seen.out_of(text)
        placeholders.update(found)
        redacted = redact.redact(text, key=key, allow=allow)
        placeholders.update(finding.placeholder for finding in redacted.findings)
        return redacted.text

    whole = tier is Tier.FULL
    turns, dropped = conversations.fit(known.tail.turns(), room, counter, whole_results=whole, clean=clean)
    title, _, branch = clean(f"{source.title}\n\n{source.branch}").partition("\n\n")
    return Conversation(turns=turns, title=title, branch=branch), dropped, placeholders


def _left_behind(way: Way, dropped: int) -> tuple[str, ...]:
    if way is Way.PROMPT:
        return ("the conversation itself (kept in the package)",)
    return (f"{dropped} earlier turns of the conversation, which did not fit",) if dropped else ()


def travelling(
    desk: Desk, source: str, agent: Agent, folder: Path
) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    """Instruction files that the target does not load by itself, without secrets, and what cannot be carried."""
    if source == agent.name:
        return (), ()
    project = paths.find_project(folder)
    files, lost = project_config.travelling(source, agent.name, desk.env, project)
    found_texts, cut = [], []
    for path in files:
        name, text = _shown(project, paths.as_text(path)), project_config.content(path)
        if len(text) > prompt.LARGEST_FILE:
            cut.append(f"what comes after the first {prompt.LARGEST_FILE:,} characters of {name}")
        name = redaction.redact(desk, name).text
        found_texts.append((name, redaction.redact(desk, text[: prompt.LARGEST_FILE]).text))
    return tuple(found_texts), (*lost, *cut)


def _shown(project: Path, path: str) -> str:
    root = paths.as_text(project) + "/"
    return path.removeprefix(root) if path.startswith(root) else f"~/{Path(path).name}"


def drift_of(desk: Desk, facts: tuple[Fact, ...], source: Transcript | None, folder: Path) -> tuple[str, ...]:
    """How the folder differs from the facts."""
    now = git.look(paths.find_project(folder), facts, desk.env)
    lines = [str(one) for one in drift.compare(facts, now, source.updated_at if source else None)]
    return tuple(redaction.redact(desk, "\n".join(lines)).text.split("\n")) if lines else ()


def cost_of(desk: Desk, agent: Agent, model: str, count: int) -> float | None:
    """Cost of reading that many tokens once, if the price is known."""
    name = model or _usual_model(desk, agent.name)
    price = prices.look_up(name, desk.clock()) if name else None
    return prices.cost(price, Tokens(input=count)) if price else None


def _usual_model(desk: Desk, agent: str) -> str:
    """Model that the agent used last."""
    known = [entry.transcript for entry in desk.index.transcripts().values() if entry.transcript]
    own = [one for one in known if one.agent == agent and one.model]
    return max(own, key=lambda one: one.updated_at or "").model if own else ""


def trigger_for(desk: Desk, work: Work, order: Order, told: list[AgentLimits]) -> Trigger:
    """Trigger of the handoff: the user's request, and the state of the limits."""
    if order.trigger is not None:
        return order.trigger
    standing = folder_status.stand(desk, work, told)
    request = order.reason or ("to return the work" if order.to == BACK else f"to continue in {order.to}")
    usage = standing.usage
    model = standing.transcript.model if standing.transcript else ""
    usage = usage or Usage(at=desk.clock(), tokens_used=0, tokens_limit=0)
    trigger = budget.trigger_for(usage, folder_status.thresholds_of(desk), model, request)
    if trigger is None:
        raise Refused(what="No reason for the handoff was given.", next="segue to AGENT --reason WHY")
    return trigger
