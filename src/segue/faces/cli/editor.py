"""Which editor a person wants: as git asks for it, by VISUAL or EDITOR, with its arguments and without a shell."""

from __future__ import annotations

import shlex
import sys

from segue.errors import BadInput
from segue.faces.cli.frame import Frame


def chosen(frame: Frame, command: str, otherwise: str) -> list[str]:
    """The program and its arguments. `otherwise` names what can be typed where there is nobody to edit."""
    named = frame.env.get("VISUAL") or frame.env.get("EDITOR") or ""
    try:
        editor = shlex.split(named)
    except ValueError as error:
        raise BadInput(
            what=f"The editor '{named}' cannot be read: {error}.", next=f"EDITOR=nano {command}"
        ) from None
    if not editor and not (sys.stdin and sys.stdin.isatty()):
        raise BadInput(
            what="There is no terminal to edit on, and neither VISUAL nor EDITOR names an editor.",
            next=otherwise,
        )
    return editor or ["vi"]
