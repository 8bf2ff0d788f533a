"""`segue verify`: whether what an agent says it did is so."""

from __future__ import annotations

import click

from segue import assertions
from segue.assertions import Verdict
from segue.faces import render
from segue.faces.cli.frame import Frame, answers
from segue.ops import verifying
from segue.ops.verifying import Verification

SIGNS = {Verdict.SUPPORTED: "ok", Verdict.UNSUPPORTED: "problem", Verdict.UNKNOWN: "note"}
FEW = 12
"""How many of those that hold, or cannot be told, are listed."""


def screen(found: Verification) -> str:
    rait = found.rait
    since = f" since handoff {found.handoff}" if found.handoff else ""
    lines = [f"What is asserted in transcript {render.clean(found.transcript)}{since}", ""]
    for verdict in (Verdict.UNSUPPORTED, Verdict.UNKNOWN, Verdict.SUPPORTED):
        own = [one for one in found.checked if one.verdict is verdict]
        shown = own if verdict is Verdict.UNSUPPORTED else own[:FEW]
        for one in shown:
            lines.append(f"{render.mark(SIGNS[verdict])} {render.clean(assertions.label(one))}")
            if verdict is Verdict.UNSUPPORTED:
                lines.append(f'    said: "{render.clean(render.short(one.assertion.sentence, 110))}"')
            if verdict is not Verdict.SUPPORTED:
                lines.append(f"    {render.clean(render.short(one.evidence, 150))}")
        if len(own) > len(shown):
            lines.append(f"  … and {len(own) - len(shown)} more {verdict}; --json lists them")
    if not found.checked:
        lines.append("Nothing is asserted there that could be checked.")
    lines.append("")
    for name in ("rigorous", "accurate", "interpretable", "transparent"):
        word = getattr(rait, name)
        share = f"{word.share:.0%}, " if word.share is not None else ""
        lines.append(f"{name.capitalize():14} {share}{render.clean(word.statement)}")
    if found.opinion:
        said = found.opinion.text or f"none: {found.opinion.problem}"
        lines += [
            "",
            f"{render.clean(found.opinion.model)} thinks (an opinion, no finding):",
            render.clean(said),
        ]
    return "\n".join(lines)


@click.command()
@click.argument("session", required=False)
@click.option(
    "--since", metavar="HANDOFF", help="What was said after this handoff, wherever the work is now."
)
@click.option("--transcript", metavar="ID", help="All of one transcript instead.")
@click.option(
    "--tests/--no-tests",
    "run_tests",
    default=None,
    help="Run the project's tests (the setting verify.test_command), or not.",
)
@click.option("--opinion", metavar="MODEL", default="", help="Ask a model of the llm library as well.")
@answers(
    screen,
    exit_code=lambda found: found.exit_code,
    data=lambda found: {**_plain(found), "unsupported": found.unsupported},
)
def verify(
    frame: Frame,
    session: str | None,
    since: str | None,
    transcript: str | None,
    run_tests: bool | None,
    opinion: str,
) -> Verification:
    """Check what the agent that has the work says it did: against files, repository, transcript and, with --tests,
    a test run. Exit code 11 where something is unsupported, 0 where nothing is."""
    return verifying.verify(
        frame.desk, session, since=since, transcript=transcript, run_tests=run_tests, opinion=opinion
    )


def _plain(found: Verification) -> dict[str, object]:
    return {name: getattr(found, name) for name in found.__struct_fields__}


COMMANDS = {"verify": verify}
