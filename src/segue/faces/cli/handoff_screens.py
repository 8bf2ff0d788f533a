"""Screens and JSON of a planned and of a completed handoff."""

from __future__ import annotations

import shlex
from typing import Any

from msgspec import Struct

from segue.faces import render
from segue.model import Ending, Fate, Handoff
from segue.model.delivery import Mode, Way
from segue.ops.handoff import handoff_records, handoffs
from segue.ops.handoff.handoffs import Handed
from segue.ops.handoff.plan import Plan

WAYS = {
    Way.RESUME: "resumes its own conversation",
    Way.NATIVE: "the conversation is written in its own format and resumed",
    Way.PROMPT: "the brief is the first message of a new conversation",
}
FEW = 12


class Shown(Struct, frozen=True):
    """Result of `to` or `back`: a plan (dry run) or a handoff."""

    plan: Plan | None = None
    handed: Handed | None = None


def plan_screen(plan: Plan) -> str:
    made, source = plan.made, plan.source
    broken = [("Broken", one) for one in handoff_records.violations_in(made.receipt)]
    counts = {fate: made.receipt.count(fate) for fate in Fate}
    rows = [
        *broken,
        ("Work", render.short(plan.work.session.title, 90)),
        ("From", f"{plan.source_title}, transcript {source.id}, {_written(plan)}"),
        ("To", f"{plan.target_title}, vendor {plan.vendor}"),
        ("How", f"{plan.way.value}: {WAYS[plan.way]}" + (f" ({plan.why})" if plan.why else "")),
        ("Sent", _sent(plan)),
        (
            "Facts",
            f"{counts[Fate.PASSED]} passed, {counts[Fate.RECOVERABLE]} recoverable, "
            f"{counts[Fate.NOT_PASSED]} not passed; {render.plural(plan.redacted, 'secret')} replaced",
        ),
    ]
    if not plan.is_allowed:
        rows.append(("Consent", f"not given for {plan.vendor} yet: Segue asks before it sends anything"))
    if plan.order.prove:
        rows.append(("Proof", "a copy answers questions first; it reads all of this once more"))
    if plan.instructions:
        rows.append(("Instructions", ", ".join(name for name, _ in plan.instructions)))
    rows += [("Git", one) for one in (plan.claims.changed if plan.claims else ())]
    if plan.claims and plan.claims.unconfirmed:
        rows.append(("Claims", str(plan.claims)))
        rows += [("", claim) for claim in handoff_records.unconfirmed_in(plan.made.receipt)[:FEW]]
    rows += [("Not passed" if not n else "", item) for n, item in enumerate(plan.not_passed[:FEW])]
    rows += [("Changed" if not n else "", item) for n, item in enumerate(plan.drift[:FEW])]
    return render.table(rows)


def _written(plan: Plan) -> str:
    at = plan.source.updated_at
    return f"last written {render.local(at)}" if at else "time unknown"


def whose(plan: Plan) -> str:
    title = render.clean(render.short(plan.work.session.title, 90))
    return f"Work of {plan.source_title}, {_written(plan)}: {title}"


def _sent(plan: Plan) -> str:
    turns = len(plan.conversation.turns)
    parts = [f"brief {plan.made.brief.tokens:,}"]
    if turns:
        parts.append(render.plural(turns, "turn") + " of the conversation")
    if plan.way is Way.RESUME:
        parts.append("without what it already has")
    cost = f", ${plan.cost_usd:.2f} to read once" if plan.cost_usd is not None else ", price unknown"
    return f"{plan.tokens:,} tokens ({', '.join(parts)}; {plan.counter}){cost}"


def handed_screen(handed: Handed) -> str:
    handoff, found, delivery = handed.handoff, handed.arrival, handed.handoff.delivery
    title = handoffs.title_of(handoff.target)
    lines = [f"{render.mark('problem')} {render.clean(one)}" for one in handed.violations]
    if found.reply and delivery and delivery.mode is Mode.HEADLESS:
        lines += [render.clean(found.reply.strip()), ""]
    lines.append(f"{render.mark('ok')} {title} has the work (handoff {handoff.id}).")
    carried = f" and {found.carried} of the {found.due} messages before it" if found.due else ""
    brief = (
        "the path of the brief (it is too long for a message)" if found.is_in_file else "the brief, verbatim"
    )
    lines.append(f"  Confirmed in its transcript {render.clean(found.id)}: {brief}{carried}.")
    if delivery and delivery.mode is Mode.OPEN and found.ending is Ending.OPEN:
        lines.append("  You left during a turn; some agents finish it in the background.")
    if handed.proof:
        report = handed.proof.report
        lines.append(f"  Proof: {report.right} of {len(report.results)} answers were right.")
        for graded in report.results:
            sign = render.mark("ok" if graded.is_right else "problem")
            lines.append(f"  {sign} {render.clean(graded.probe.question)}")
        if handed.proof.missing:
            lines.append("  The facts it did not know were repeated to it.")
    if handoff.returns:
        lines += _return_lines(handed)
    else:
        lines.append(
            f"  Details: segue show {handoff.id} · segue back returns to {handoffs.title_of(handoff.source)}"
        )
    return "\n".join(lines)


def _return_lines(handed: Handed) -> list[str]:
    """Unconfirmed claims, and where the work can still return to."""
    delivery = handed.handoff.delivery
    claims = delivery.claims if delivery else None
    lines = [f"{render.mark('note')} {render.clean(one)}" for one in (claims.changed if claims else ())]
    if claims and claims.unconfirmed:
        lines.append(
            f"{render.mark('problem')} {claims}; {handoffs.title_of(handed.handoff.target)} has the list:"
        )
        lines += [f"    {render.clean(render.short(claim, 240))}" for claim in handed.unconfirmed]
        lines += [f"  segue verify --since {id} shows how they were checked." for id in claims.since]
    if handed.home:
        lines.append(f"  segue back returns to {handed.home}")
    return lines


def result_screen(shown: Shown) -> str:
    if shown.plan is not None:
        return f"{plan_screen(shown.plan)}\nNothing was sent. To hand over, run: {command_of(shown.plan)}"
    return handed_screen(shown.handed) if shown.handed else ""


def command_of(plan: Plan) -> str:
    """The command that executes a plan, with the same options."""
    order = plan.order
    words = ["segue", "back"] if plan.returns else ["segue", "to", plan.target.name]
    for name, value in (
        ("--session", order.session),
        ("--preserve", order.preserve.value if order.preserve else None),
        ("--budget", order.budget),
        ("--way", order.way.value if order.way else None),
        ("--reason", order.reason),
    ):
        words += [name, str(value)] if value else []
    words += ["--prove"] if order.prove else []
    words += ["--anyway"] if order.anyway else []
    words += ["--", *order.arguments] if order.arguments else []
    return render.clean(shlex.join(words))


def result_data(shown: Shown) -> Any:
    if shown.plan is not None:
        plan = shown.plan
        return {
            "session": plan.work.session.id,
            "source": plan.source.agent,
            "transcript": plan.source.id,
            "target": str(plan.target),
            "vendor": plan.vendor,
            "way": plan.way,
            "why": plan.why,
            "tier": plan.tier,
            "preserve": plan.tier.preserve,
            "tokens": plan.tokens,
            "counter": plan.counter,
            "cost_usd": plan.cost_usd,
            "turns": len(plan.conversation.turns),
            "turns_left_out": plan.dropped,
            "secrets_replaced": plan.redacted,
            "instructions": [name for name, _ in plan.instructions],
            "not_passed": plan.not_passed,
            "drift": plan.drift,
            "needs_consent": not plan.is_allowed,
            "claims": plan.claims,
            "brief": plan.made.brief,
        }
    handed = shown.handed
    if handed is None:
        return None
    data: dict[str, Any] = {"handoff": handed.handoff, "arrival": handed.arrival, "proof": handed.proof}
    if handed.handoff.returns:
        claims = handed.handoff.delivery.claims if handed.handoff.delivery else None
        data |= {
            "claims": claims,
            "violations": handed.violations,
            "changed": claims.changed if claims else (),
            "unconfirmed": handed.unconfirmed,
        }
    return data


def going_screen(handoff: Handoff, vendor: str) -> str:
    delivery = handoff.delivery
    title = handoffs.title_of(handoff.target)
    if delivery is None:
        return f"To {title}."
    cost = f", ${delivery.cost_usd:.2f} to read once" if delivery.cost_usd is not None else ""
    return (
        f"\n{title} is run by {vendor}, which has received nothing from this project so far.\n"
        f"This would send {delivery.tokens:,} tokens ({WAYS[delivery.way]}{cost}), "
        f"with {render.plural(delivery.redacted, 'secret')} replaced."
    )
