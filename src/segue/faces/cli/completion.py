"""`segue completion SHELL`: the script that teaches a shell Segue's commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class
from msgspec import Struct

from segue.faces import cli
from segue.faces.cli.frame import Frame, answers


class Script(Struct, frozen=True):
    shell: str
    script: str


def screen(script: Script) -> str:
    return script.script


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@answers(screen)
def completion(frame: Frame, shell: str) -> Script:
    """Print the completion script for a shell.

    \b
    bash:  eval "$(segue completion bash)"      in ~/.bashrc
    zsh:   eval "$(segue completion zsh)"       in ~/.zshrc
    fish:  segue completion fish | source       in ~/.config/fish/config.fish
    """
    maker = get_completion_class(shell)
    assert maker is not None  # noqa: S101 - click knows the three
    return Script(shell, maker(cli.command_line, {}, "segue", "_SEGUE_COMPLETE").source())


COMMANDS = {"completion": completion}
