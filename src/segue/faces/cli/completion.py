"""`segue completion SHELL`: the shell completion script."""

from __future__ import annotations

from importlib.metadata import entry_points

import click
from click.shell_completion import get_completion_class
from msgspec import Struct

from segue.faces import cli
from segue.faces.cli.frame import Frame, answers

PROGRAM = "segue.__main__:main"
ALSO = {
    "bash": "complete -o nosort -F _segue_completion {name}",
    "zsh": "compdef _segue_completion {name}",
    "fish": 'complete --no-files --command {name} --arguments "(_segue_completion)"',
}


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
    zsh:   eval "$(segue completion zsh)"       in ~/.zshrc, after compinit
    fish:  segue completion fish | source       in ~/.config/fish/config.fish
    """
    maker = get_completion_class(shell)
    assert maker is not None  # noqa: S101 - click knows the three
    script = maker(cli.command_line, {}, "segue", "_SEGUE_COMPLETE").source().rstrip()
    # click's fish script truncates descriptions at the first comma.
    script = script.replace('string split "," ', 'string split --max 1 "," ')
    others = [ALSO[shell].format(name=name) for name in other_names()]
    return Script(shell, "\n".join([script, "", *others]))


def other_names() -> list[str]:
    """Other installed names of this program."""
    ours = [script.name for script in entry_points(group="console_scripts") if script.value == PROGRAM]
    return sorted(name for name in ours if name != "segue")


COMMANDS = {"completion": completion}
