"""`segue protocol`: check and reduce handoff documents."""

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
"""Maximum number of problems shown; --json lists all."""


def documents(frame: Frame) -> Documents:
    return Documents(frame.cwd, getattr(sys.stdin, "buffer", None))


def check_screen(found: Checked) -> str:
    file, tier = render.clean(found.file), found.context_level
    who = render.clean(f"{found.from_agent} -[{tier}]-> {found.to_agent}")
    if found.misfits:
        lines = [f"{render.mark('problem')} {file} violates {tier}  {who}", *_listed(found.misfits)]
        lines.append(f"  {render.bold('next:')} {render.clean(found.next)}")
    else:
        passed = f"{render.plural(found.passed, 'field')} passed, {found.not_passed} listed as not passed"
        back = f"{found.expected_output.format} {found.expected_output.schema}".strip()
        lines = [f"{render.mark('ok')} {file} fits {tier}  {who}"]
        lines.append(render.clean(f"  {passed}; expected output: {back}"))
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
        return [f"{render.mark('ok')} {file} matches the expected output: {what}"]
    return [
        f"{render.mark('problem')} {file} does not match the expected output: {what}",
        *_listed(answer.problems),
    ]


def _listed(found: tuple[Any, ...], more_in: str = " (--json lists all)") -> list[str]:
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
    help="A handoff that the sender received; what is passed on must fit its tier too.",
)
@click.option("--output", metavar="ANSWER", help="An answer to check against the handoff's expected_output.")
@click.option(
    "--schema", metavar="SCHEMA", help="Check the answer against this schema: a name, a file or module:Model."
)
@click.option(
    "--import",
    "may_import",
    is_flag=True,
    help="Import the model that the document names; this runs its code.",
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
    """Check that a handoff document fits its tier; exits 1 if not. FILE is YAML or JSON, - is stdin."""
    if output is None and (schema or may_import):
        raise click.UsageError("--schema and --import need an answer: add --output ANSWER.")
    answer = None if output is None else Wanted(output, schema or "", may_import)
    return ops.check(documents(frame), file, received, answer)


def reduced_screen(reduced: Reduced) -> str:
    return document.write(reduced.form, reduced.notation).rstrip("\n")


@protocol.command("reduce")
@click.argument("file")
@click.option("--to", required=True, metavar="TIER", help="FULL, SELECTIVE, FILTERED, MINIMAL or METADATA.")
@click.option("--yaml", "as_yaml", is_flag=True, help="Print YAML even if the document is JSON.")
@answers(reduced_screen, data=lambda reduced: document.to_plain(reduced.form))
def reduce(frame: Frame, file: str, to: str, as_yaml: bool) -> Reduced:
    """Print a handoff document reduced to a narrower tier, and list what was removed."""
    tier = tiers.named(to, next="segue protocol reduce --help")
    reduced = ops.reduce(documents(frame), file, tier)
    if reduced.fallen:
        frame.say(f"Removed, because {tier} does not pass it:")
        for line in _listed(reduced.fallen, more_in=" (see not_passed)"):
            frame.say(line)
    else:
        frame.say(f"Nothing was removed: all of it fits {tier}.")
    return Reduced(reduced.form, reduced.fallen, Notation.YAML) if as_yaml else reduced


@protocol.command("schema")
@click.argument("name", required=False, default="")
@answers(to_json)
def schema(frame: Frame, name: str) -> dict[str, Any]:
    """Print the JSON Schema of handoff documents, or of the built-in answer NAME."""
    found = ops.schema(name)
    if not name:
        frame.say(f"Built-in answers: {', '.join(schemas.names())}")
    return found


COMMANDS = {"protocol": protocol}
