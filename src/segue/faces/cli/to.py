"""`segue to` and `segue back`: take the work to another agent, and home again."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from typing import Any

import click
from msgspec import Struct

from segue.errors import BadInput, Declined
from segue.faces import render
from segue.faces.cli.frame import Frame, answers
from segue.model import Ending, Fate, Handoff, Preserve
from segue.model.delivery import Mode, Way
from segue.ops.handoff import handoff_records, handoffs, plan
from segue.ops.handoff.handoffs import Handed
from segue.ops.handoff.plan import Order, Plan
from segue.ops.handoff.proof import Proof

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


def _screen(shown: Shown) -> str:
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


def _data(shown: Shown) -> Any:
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


def mode_of(frame: Frame, headless: bool, command: str = "segue to AGENT") -> Mode:
    """A person's terminal, or nobody: that is never guessed."""
    if headless:
        return Mode.HEADLESS
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise BadInput(
            what="There is no terminal to open the agent in.",
            next=f"{command} --headless runs it to the end",
        )
    return Mode.OPEN


def asking(frame: Frame, yes: bool) -> handoffs.May:
    """How the person is asked whether a handoff may go to a vendor."""

    def may(handoff: Handoff) -> bool:
        title = handoffs.title_of(handoff.target)
        mode = handoff.delivery.mode if handoff.delivery else None
        if yes:
            say_at_work(frame, title, mode)
            return True
        if not sys.stdin.isatty():
            return False
        frame.say(going_screen(handoff, handoffs.vendor_of(frame.desk, handoff.target)))
        kept = f" Handoff {handoff.id} stays prepared."
        goes_on = f"segue handoff execute {handoff.id}{' --open' if mode is Mode.OPEN else ''}"
        next = f"{goes_on} continues it, segue handoff cancel {handoff.id} drops it"
        try:
            is_given = click.confirm("Let this project's context go there?", default=False, err=True)
        except click.Abort:
            frame.say(f"\nNothing was sent.{kept} {next}.")
            raise
        if not is_given:
            raise Declined(agent=handoffs.title_of(handoff.source), kept=kept, next=next)
        say_at_work(frame, title, mode)
        return True

    return may


def doubting(anyway: bool) -> handoffs.Doubt:
    """How the person is asked whether to start a target whose copy failed the questions."""

    def doubt(proof: Proof) -> bool:
        if anyway or not sys.stdin.isatty():
            return anyway
        report = proof.report
        asked = f"The copy answered {report.right} of {len(report.results)} questions. Start it anyway?"
        return click.confirm(asked, default=False, err=True)

    return doubt


def say_at_work(frame: Frame, title: str, mode: Mode | None) -> None:
    """A headless agent shows nothing of itself: a person at the terminal is told that it works, once it may."""
    if mode is Mode.HEADLESS and sys.stderr.isatty() and not frame.as_json:
        frame.say(f"{title} is at work; Ctrl-C stops it.")


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


def _shared(function: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("--session", metavar="ID", help="Another session than this folder's."),
        click.option(
            "--anyway", is_flag=True, help="Hand over even at the target's limit, or if --prove fails."
        ),
        click.option("--yes", "-y", is_flag=True, help="Let the context go to the vendor without asking."),
        click.option("--dry-run", is_flag=True, help="Show what would go where, and do nothing."),
        click.option(
            "--headless", is_flag=True, help="Run the agent to the end, with nobody at the terminal."
        ),
        click.option("--reason", metavar="TEXT", default="", help="Why, for the record and the next agent."),
    ):
        function = option(function)
    return function


@click.command()
@click.argument("target", metavar="AGENT[:MODEL]")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[-- ARGUMENT...]")
@click.option(
    "--preserve", type=click.Choice([level.value for level in Preserve]), help="How much is carried."
)
@click.option("--budget", metavar="TOKENS", type=int, help="How long the brief may be.")
@click.option("--way", type=click.Choice([Way.NATIVE.value, Way.PROMPT.value]), help="How it is delivered.")
@click.option("--prove", is_flag=True, help="Ask a throw-away copy what it knows first; costs tokens.")
@_shared
@answers(_screen, data=_data)
def to(
    frame: Frame,
    target: str,
    arguments: tuple[str, ...],
    preserve: str | None,
    budget: int | None,
    way: str | None,
    prove: bool,
    session: str | None,
    anyway: bool,
    yes: bool,
    dry_run: bool,
    headless: bool,
    reason: str,
) -> Shown:
    """Continue this folder's work in another agent, or in another model of the same: AGENT, AGENT:MODEL, or a model.

    On a terminal the agent opens with the work in it; --headless runs it to the end. What comes after -- goes to
    the agent's own program. The first time that a project's context would go to a vendor, you are asked.
    """
    refuse_words(arguments)
    plan.target_of(frame.desk, target)
    order = Order(
        to=target,
        mode=Mode.HEADLESS if dry_run else mode_of(frame, headless),
        reason=reason,
        preserve=Preserve(preserve) if preserve else None,
        budget=budget,
        way=Way(way) if way else None,
        session=session,
        arguments=arguments,
        prove=prove,
        anyway=anyway,
    )
    if dry_run:
        return Shown(plan=plan.plan(frame.desk, order))
    return Shown(
        handed=handoffs.hand_over(
            frame.desk,
            order,
            may=asking(frame, yes),
            tell=frame.say,
            show=showing(frame, order),
            doubt=doubting(anyway),
        )
    )


def showing(frame: Frame, order: Order) -> Callable[[Plan], None]:
    """A person at a terminal sees what goes where before it goes."""

    def show(plan: Plan) -> None:
        if order.mode is Mode.OPEN or (sys.stderr.isatty() and not frame.as_json):
            frame.say(plan_screen(plan))
        else:
            frame.say(whose(plan))
        if plan.is_allowed:
            say_at_work(frame, plan.target_title, order.mode)

    return show


def refuse_words(arguments: tuple[str, ...]) -> None:
    """What goes to the agent's program are options: a word there would be taken for something said."""
    if arguments and not arguments[0].startswith("-"):
        raise BadInput(
            what=f"'{arguments[0]}' is not understood: one agent is named, and options of its program come after --.",
            next="segue to AGENT --reason 'what it should know'",
        )


@click.command()
@_shared
@answers(_screen, data=_data)
def back(
    frame: Frame,
    session: str | None,
    anyway: bool,
    yes: bool,
    dry_run: bool,
    headless: bool,
    reason: str,
) -> Shown:
    """Return to the agent that the work came from: its own conversation goes on, with what happened meanwhile."""
    order = Order(
        to=plan.BACK,
        mode=Mode.HEADLESS if dry_run else mode_of(frame, headless, "segue back"),
        reason=reason,
        session=session,
        anyway=anyway,
    )

    from segue.ops.verify import back as returns

    if dry_run:
        return Shown(plan=returns.plan(frame.desk, order))
    return Shown(handed=returns.come_back(frame.desk, order, may=asking(frame, yes), tell=frame.say))


COMMANDS = {"to": to, "back": back}
