"""`segue protocol`: handoff documents, held to their tier."""

from __future__ import annotations

import sys
from typing import Any

import click

from segue import tiers
from segue.base.yaml_json import Notation
from segue.faces import render
from segue.faces.cli.frame import Frame, answers, to_json
from segue.ops.briefs import documents as ops
from segue.ops.briefs.documents import Checked, Documents, Reduced, Wanted
from segue.protocol import document, schemas

SHOWN = 20
"""How many misfits or problems are shown; --json has them all."""


def documents(frame: Frame) -> Documents:
    return Documents(frame.cwd, getattr(sys.stdin, "buffer", None))


def check_screen(found: Checked) -> str:
    file, tier = render.clean(found.file), found.context_level
    who = render.clean(f"{found.from_agent} -[{tier}]-> {found.to_agent}")
    if found.misfits:
        lines = [f"{render.mark('problem')} {file} does not fit {tier}  {who}", *_listed(found.misfits)]
        lines.append(f"  {render.bold('next:')} {render.clean(found.next)}")
    else:
        passed = f"{render.plural(found.passed, 'field')} passed, {found.not_passed} listed as not passed"
        back = f"{found.expected_output.format} {found.expected_output.schema}".strip()
        lines = [f"{render.mark('ok')} {file} fits {tier}  {who}"]
        lines.append(render.clean(f"  {passed}; comes back as {back}"))
    if found.note:
        lines.append(f"{render.mark('note')} {render.clean(found.note)}")
    return "\n".join([*lines, *_answer_lines(found)])


def _answer_lines(found: Checked) -> list[str]:
    answer = found.answer
    if answer is None:
        return []
    what = render.clean(f"{answer.format} {answer.schema}".strip())
    file = render.clean(answer.file)
    if not answer.problems:
        return [f"{render.mark('ok')} {file} is what was expected: {what}"]
    return [f"{render.mark('problem')} {file} is not what was expected: {what}", *_listed(answer.problems)]


def _listed(found: tuple[Any, ...], more_in: str = ": --json shows them") -> list[str]:
    lines = [f"  {render.clean(one)}" for one in found[:SHOWN]]
    more = len(found) - SHOWN
    return [*lines, render.dim(f"  and {more:,} more{more_in}")] if more > 0 else lines


def check_data(found: Checked) -> dict[str, Any]:
    return {"fits": found.fits, **{name: getattr(found, name) for name in found.__struct_fields__}}


@click.group()
def protocol() -> None:
    """Check handoff documents, reduce them to a narrower tier, and show their schema."""


@protocol.command("check")
@click.argument("file")
@click.option(
    "--received",
    multiple=True,
    metavar="FILE",
    help="A handoff that the sender received: what it passes on is held to that tier too.",
)
@click.option(
    "--output", metavar="ANSWER", help="An answer to this handoff: checked against its expected_output."
)
@click.option(
    "--schema", metavar="SCHEMA", help="Check the answer against this one: a name, a file, or module:Model."
)
@click.option(
    "--import", "may_import", is_flag=True, help="Import the model that the document names: runs its code."
)
@answers(check_screen, exit_code=lambda found: 0 if found.fits else 1, data=check_data)
def check(
    frame: Frame,
    file: str,
    received: tuple[str, ...],
    output: str | None,
    schema: str | None,
    may_import: bool,
) -> Checked:
    """Say whether a handoff document keeps to its tier: FILE is YAML or JSON, - is stdin; exit code 1 if not."""
    if output is None and (schema or may_import):
        raise click.UsageError("--schema and --import are for an answer: name it with --output ANSWER.")
    answer = None if output is None else Wanted(output, schema or "", may_import)
    return ops.check(documents(frame), file, received, answer)


def reduced_screen(reduced: Reduced) -> str:
    return document.write(reduced.form, reduced.notation).rstrip("\n")


@protocol.command("reduce")
@click.argument("file")
@click.option("--to", required=True, metavar="TIER", help="FULL, SELECTIVE, FILTERED, MINIMAL or METADATA.")
@click.option("--yaml", "as_yaml", is_flag=True, help="Print YAML, whatever the document is in.")
@answers(reduced_screen, data=lambda reduced: document.to_plain(reduced.form))
def reduce(frame: Frame, file: str, to: str, as_yaml: bool) -> Reduced:
    """Print a handoff document at a narrower tier, and say what fell away."""
    tier = tiers.named(to, next="segue protocol reduce --help")
    reduced = ops.reduce(documents(frame), file, tier)
    if reduced.fallen:
        frame.say(f"What {tier} does not pass fell away:")
        for line in _listed(reduced.fallen, more_in=": see not_passed"):
            frame.say(line)
    else:
        frame.say(f"Nothing fell away: all of it passes at {tier}.")
    return Reduced(reduced.form, reduced.fallen, Notation.YAML) if as_yaml else reduced


@protocol.command("schema")
@click.argument("name", required=False, default="")
@answers(to_json)
def schema(frame: Frame, name: str) -> dict[str, Any]:
    """Print the JSON Schema of the handoff document, or of an answer that Segue knows by NAME."""
    found = ops.schema(name)
    if not name:
        frame.say(f"Answers by name: {', '.join(schemas.names())}")
    return found


COMMANDS = {"protocol": protocol}
