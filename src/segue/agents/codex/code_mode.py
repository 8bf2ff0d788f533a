"""The JavaScript of code mode: which commands a script runs, and how they ended.

A paginated history records each command and change that a script makes; an older one records no command. There a
command is read only if it is written out in the script and the script returned its result as it was. No JavaScript is
run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from segue.agents.codex.parts import texts_of
from segue.agents.shared.transcripts.reader import dict_of, list_of, status_of

TOOL = "exec"
_RUNNING = "Script running with cell ID"
_COMMAND = "tools.exec_command("
_LONGEST = 200_000
_CMD = re.compile(
    r"""\s*\{(?:[^{}"'`]{0,500}[,\s])??["']?cmd["']?\s*:\s*"""
    r"""("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\$]|\\.)*`)\s*[,}]""",
    re.DOTALL,
)
"""The first argument of a tool, up to a command that is one string: not put together, with nothing filled in."""
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}


def is_script(kind: str, payload: dict[str, Any]) -> bool:
    return kind == "custom_tool_call" and payload.get("name") == TOOL and not payload.get("namespace")


def is_running(output: Any) -> bool:
    """Whether a script goes on after its output: what it does is recorded later."""
    return "".join(texts_of(output)[:1]).startswith(_RUNNING)


def commands(script: str, output: Any) -> list[dict[str, Any]]:
    """The commands of a script with their results, as items of a paginated history; none unless each is certain."""
    asked = [_CMD.match(part) for part in script[:_LONGEST].split(_COMMAND)[1:]]
    written = [_text(found[1][1:-1]) for found in asked if found]
    results = list(_results(output))
    if not written or not len(asked) == len(written) == len(results):
        return []
    return [
        {"command": command, "exit_code": result["exit_code"], "aggregated_output": result["output"]}
        for command, result in zip(written, results, strict=True)
    ]


def _text(literal: str) -> str:
    """What a string of JavaScript stands for."""
    text = _ESCAPE.sub(lambda found: _character(*found.groups()), literal)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _character(four: str | None, two: str | None, one: str | None) -> str:
    return chr(int(four or two or "", 16)) if one is None else _ESCAPES.get(one, one)


def _results(output: Any) -> Iterator[dict[str, Any]]:
    """The results of commands that a script returned whole."""
    for text in texts_of(output):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            continue
        for one in map(dict_of, list_of(value) or [value]):
            is_whole = "wall_time_seconds" in one and isinstance(one.get("output"), str)
            if is_whole and status_of(one.get("exit_code")) is not None:
                yield one
