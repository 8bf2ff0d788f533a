"""`segue pack`: turn a transcript into a brief."""

from __future__ import annotations

from pathlib import Path

import click

from segue.briefs.rewrite import Change
from segue.errors import BadInput
from segue.faces import render
from segue.faces.cli.frame import Frame, to_json
from segue.model import Fate, Tier
from segue.ops.briefs import context, make
from segue.ops.briefs.make import Made, Wish

FEW = 5
NOT_KEPT = ". It could not be stored, so segue show will not find it. Run segue doctor to see why."


@click.command()
@click.argument("transcript", required=False, metavar="[TRANSCRIPT_FILE_OR_ID]")
@click.option(
    "--budget", type=int, metavar="TOKENS", help="Maximum length; by default, as long as the tier needs."
)
@click.option(
    "--tier",
    type=click.Choice([tier.value for tier in Tier], case_sensitive=False),
    default=Tier.SELECTIVE.value,
    show_default=True,
    help="How much may be passed.",
)
@click.option(
    "--for",
    "target",
    metavar="AGENT",
    default="",
    help="Who will read it: sets how tokens are counted and how many fit.",
)
@click.option(
    "--rewrite",
    metavar="MODEL",
    default="",
    help="Shorten the agent's prose with a model of the llm library; secrets are removed first.",
)
@click.option(
    "--package",
    "package",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Also write the complete context to a new file, SECRETS INCLUDED.",
)
@click.option("--markdown", "is_markdown", is_flag=True, help="Print Markdown (the default).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_obj
def pack(
    frame: Frame,
    transcript: str | None,
    budget: int | None,
    tier: str,
    target: str,
    rewrite: str,
    package: Path | None,
    is_markdown: bool,
    as_json: bool,
    debug: bool,
) -> None:
    """Turn a transcript (this folder's latest by default) into a brief for the next agent, within a budget.

    Prints the brief. Starts no agent; sends nothing from this machine except with --rewrite.
    """
    frame.debug = frame.debug or debug
    frame.as_json = frame.as_json or as_json
    if frame.as_json and is_markdown:
        raise BadInput(what="--json and --markdown cannot be combined.", next="segue help pack")
    made = make.packed(frame.desk, transcript, Wish(Tier(tier), budget, target, rewrite), tell=frame.say)
    if package is not None:
        whole = context.package(frame.desk, transcript, frame.cwd / package, tier=Tier(tier), target=target)
        frame.say(
            f"Context packaged ({render.size(whole.stored)}, {render.size(whole.size)} unpacked): {package}"
        )
    frame.print(to_json(made.brief) if frame.as_json else made.text.rstrip("\n"))
    for change in made.changes:
        frame.say(render.clean(_changed(change)))
    frame.say(_told(made, is_kept=make.is_kept(frame.desk, made.id)))


def _changed(change: Change) -> str:
    """Format the outcome of one rewrite by a model."""
    if change.problem:
        return f"{change.before:,} characters unchanged: {change.problem}"
    told = f"{change.before:,} characters shortened to {change.after:,}"
    for what, items in (("put back", change.put_back), ("removed as invented", change.dropped)):
        if items:
            more = f" and {len(items) - FEW} more" if len(items) > FEW else ""
            told += f"; {what}: {', '.join(render.short(item, 60) for item in items[:FEW])}{more}"
    return told


def _told(made: Made, *, is_kept: bool) -> str:
    receipt = made.receipt
    return (
        f"{made.id}: {made.brief.tokens:,} of {made.brief.budget:,} tokens ({made.brief.counter}); "
        f"{render.plural(receipt.count(Fate.PASSED), 'fact')} passed, {receipt.count(Fate.RECOVERABLE)} recoverable, "
        f"{receipt.count(Fate.NOT_PASSED)} not passed"
        + (f"; {render.plural(receipt.redacted, 'secret')} replaced" if receipt.redacted else "")
        + (f". Details: segue show {made.id}" if is_kept else NOT_KEPT)
    )


COMMANDS = {"pack": pack}
