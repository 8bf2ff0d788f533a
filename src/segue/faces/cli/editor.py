"""The user's editor: VISUAL or EDITOR, split into arguments, without a shell."""

from __future__ import annotations

import shlex
import sys

from segue.errors import BadInput
from segue.faces.cli.frame import Frame


def chosen(frame: Frame, command: str, otherwise: str) -> list[str]:
    """Program and arguments of the editor. `otherwise` is the command to suggest without a terminal."""
    named = frame.env.get("VISUAL") or frame.env.get("EDITOR") or ""
    try:
        editor = shlex.split(named)
    except ValueError as error:
        raise BadInput(what=f"Invalid editor '{named}': {error}.", next=f"EDITOR=nano {command}") from None
    if not editor and not (sys.stdin and sys.stdin.isatty()):
        raise BadInput(
            what="No terminal, and neither VISUAL nor EDITOR is set.",
            next=otherwise,
        )
    return editor or ["vi"]
