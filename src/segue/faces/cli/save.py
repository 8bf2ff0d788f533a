"""`segue save`: the state of this folder's work as a JSON file."""

from __future__ import annotations

from collections.abc import Iterator

import click
from msgspec import Struct

from segue.errors import SegueError
from segue.faces import render
from segue.faces.cli.frame import Frame, answers
from segue.ops.briefs import saved_handoffs


class Kept(Struct, frozen=True):
    handoff_id: str
    path: str


class Several(click.Command):
    """A command whose repeatable options take every word up to the next option: `--files a.py b.py`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        several = {
            flag
            for option in self.params
            if isinstance(option, click.Option) and option.multiple
            for flag in option.opts
        }
        return super().parse_args(ctx, list(_spread(args, several)))


def _spread(words: list[str], several: set[str]) -> Iterator[str]:
    """Repeat a multi-value option before each of its values."""
    flag = ""
    is_first = False
    for n, word in enumerate(words):
        if word == "--":
            yield from words[n:]
            return
        if word.startswith("-") and word != "-":
            flag, is_first = (word, True) if word in several else ("", False)
            yield word
        else:
            if flag and not is_first:
                yield flag
            yield word
            is_first = False


def saved_screen(kept: Kept | None) -> str:
    return f"✅ Handoff saved: {render.clean(kept.path)}" if kept else "ERROR: --task required for save"


@click.command(cls=Several)
@click.option("--task", default="", metavar="TEXT", help="What is being worked on.")
@click.option("--files", multiple=True, metavar="FILE...", help="Files being worked on.")
@click.option("--steps", multiple=True, metavar="STEP...", help="Next steps, in order.")
@click.option(
    "--reason", default=saved_handoffs.BY_HAND, show_default=True, metavar="WORD", help="Why it is saved."
)
@answers(saved_screen, exit_code=lambda kept: 0 if kept else 1)
def save(frame: Frame, task: str, files: tuple[str, ...], steps: tuple[str, ...], reason: str) -> Kept | None:
    """Save the state of this folder's work, with its session's latest messages, as a JSON file.

    --files and --steps take one or more values: --files a.py b.py --steps "write the test" "make it pass"
    """
    if not task.strip():
        say_next_step(
            frame, SegueError(what=f"--task is required: {saved_handoffs.SAVE}."), saved_handoffs.SAVE
        )
        return None
    path = saved_handoffs.save(
        frame.desk, current_task=task, files_being_worked_on=files, next_steps=steps, reason=reason
    )
    return Kept(path.name.removeprefix("handoff_").removesuffix(".json"), str(path))


def say_next_step(frame: Frame, error: SegueError, next_step: str) -> None:
    """Print the next step: people and tools expect a fixed text on stdout. With --json, raise the error instead."""
    if frame.as_json:
        raise error
    frame.say(f" next: {next_step}")


COMMANDS = {"save": save}
