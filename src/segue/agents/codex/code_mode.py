"""Find the commands in the scripts of code mode, with their results.

A paginated history records every command and change of a script. An older history records no commands: there, a command
is read only if it is a literal in the script and the script returned its result unchanged. No JavaScript is run.
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
"""The first argument of a tool, up to a command that is a single string literal without substitutions."""
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}


def is_script(kind: str, payload: dict[str, Any]) -> bool:
    return kind == "custom_tool_call" and payload.get("name") == TOOL and not payload.get("namespace")


def is_running(output: Any) -> bool:
    """Whether a script is still running after its output. Its actions are recorded later."""
    return "".join(texts_of(output)[:1]).startswith(_RUNNING)


def commands(script: str, output: Any) -> list[dict[str, Any]]:
    """The commands of a script with their results, as items of a paginated history; none unless all are certain."""
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
    """The value of a JavaScript string literal."""
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
