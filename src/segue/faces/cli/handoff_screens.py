"""What a handoff would send, and how it went."""

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
    Way.RESUME: "its own conversation goes on",
    Way.NATIVE: "the conversation in its own format, opened by its own resume",
    Way.PROMPT: "the brief as the first message of a fresh run",
}
FEW = 12


class Shown(Struct, frozen=True):
    """What is told at the end: a plan that was only looked at, or how a handoff went."""

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
            f"{counts[Fate.PASSED]} passed, {counts[Fate.RECOVERABLE]} can be looked up, "
            f"{counts[Fate.NOT_PASSED]} not passed; {render.plural(plan.redacted, 'secret')} replaced",
        ),
    ]
    if not plan.is_allowed:
        rows.append(("Consent", f"not given yet for {plan.vendor}: you are asked before anything goes"))
    if plan.order.prove:
        rows.append(("Asking", "a copy reads all of that once more, with the questions"))
    if plan.instructions:
        rows.append(("Along", ", ".join(name for name, _ in plan.instructions)))
    rows += [("Git", one) for one in (plan.claims.changed if plan.claims else ())]
    if plan.claims and plan.claims.unconfirmed:
        rows.append(("Claims", str(plan.claims)))
        rows += [("", claim) for claim in handoff_records.unconfirmed_in(plan.made.receipt)[:FEW]]
    rows += [("Not passed" if not n else "", item) for n, item in enumerate(plan.not_passed[:FEW])]
    rows += [("Changed" if not n else "", item) for n, item in enumerate(plan.drift[:FEW])]
    return render.table(rows)


def _written(plan: Plan) -> str:
    at = plan.source.updated_at
    return f"last written {render.local(at)}" if at else "last written at an unknown time"


def whose(plan: Plan) -> str:
    """Whose work a handoff takes."""
    title = render.clean(render.short(plan.work.session.title, 90))
    return f"Work of {plan.source_title}, {_written(plan)}: {title}"


def _sent(plan: Plan) -> str:
    turns = len(plan.conversation.turns)
    parts = [f"brief {plan.made.brief.tokens:,}"]
    if turns:
        parts.append(render.plural(turns, "turn") + " of the conversation")
    if plan.way is Way.RESUME:
        parts.append("what it holds already")
    cost = f", ${plan.cost_usd:.2f} to read once" if plan.cost_usd is not None else ", price not known"
    return f"{plan.tokens:,} tokens ({', '.join(parts)}; {plan.counter}){cost}"


def handed_screen(handed: Handed) -> str:
    handoff, found, delivery = handed.handoff, handed.arrival, handed.handoff.delivery
    title = handoffs.title_of(handoff.target)
    lines = [f"{render.mark('problem')} {render.clean(one)}" for one in handed.violations]
    if found.reply and delivery and delivery.mode is Mode.HEADLESS:
        lines += [render.clean(found.reply.strip()), ""]
    lines.append(f"{render.mark('ok')} {title} has the work (handoff {handoff.id}).")
    carried = f", and {found.carried} of the {found.due} messages before it" if found.due else ""
    brief = "where to read the brief, too long to be said" if found.is_in_file else "the brief, word for word"
    lines.append(f"  Read back from its transcript {render.clean(found.id)}: {brief}{carried}.")
    if delivery and delivery.mode is Mode.OPEN and found.ending is Ending.OPEN:
        lines.append("  You left it in the middle of a turn; some agents go on with that in the background.")
    if handed.proof:
        report = handed.proof.report
        lines.append(f"  Asked first: {report.right} of {len(report.results)} answers were right.")
        for graded in report.results:
            sign = render.mark("ok" if graded.is_right else "problem")
            lines.append(f"  {sign} {render.clean(graded.probe.question)}")
        if handed.proof.missing:
            lines.append("  What it did not know was said to it once more.")
    if handoff.returns:
        lines += _return_lines(handed)
    else:
        lines.append(
            f"  segue show {handoff.id} tells what was passed · segue back returns to "
            f"{handoffs.title_of(handoff.source)}"
        )
    return "\n".join(lines)


def _return_lines(handed: Handed) -> list[str]:
    """Which claims could not be confirmed, if any, and where the work can still return to."""
    delivery = handed.handoff.delivery
    claims = delivery.claims if delivery else None
    lines = [f"{render.mark('note')} {render.clean(one)}" for one in (claims.changed if claims else ())]
    if claims and claims.unconfirmed:
        lines.append(
            f"{render.mark('problem')} {claims}; {handoffs.title_of(handed.handoff.target)} knows which:"
        )
        lines += [f"    {render.clean(render.short(claim, 240))}" for claim in handed.unconfirmed]
        lines += [f"  segue verify --since {id} shows how they were checked." for id in claims.since]
    if handed.home:
        lines.append(f"  segue back returns to {handed.home}")
    return lines


def result_screen(shown: Shown) -> str:
    if shown.plan is not None:
        return f"{plan_screen(shown.plan)}\nNothing was sent. {command_of(shown.plan)} does it."
    return handed_screen(shown.handed) if shown.handed else ""


def command_of(plan: Plan) -> str:
    """What does what was only looked at, with what was asked for."""
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
        f"\n{title} is of another vendor ({vendor}), and nothing of this project has gone there yet.\n"
        f"{delivery.tokens:,} tokens would go ({WAYS[delivery.way]}{cost}), "
        f"with {render.plural(delivery.redacted, 'secret')} replaced."
    )
