"""Codex: OpenAI Responses.

The model's name decides how Codex offers its tools. One that Codex knows works in "code mode": it calls
`exec` with JavaScript, in which the real tools are functions. One that it does not know gets classic function
tools.
Tests use a known one, since that is what people have.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from .model_server import Call, Fault
from .program import Program, first_value, write_new

DAY_S = 86_400

CONFIG = """\
model = "{model}"
model_provider = "local"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[features]
plugins = false
remote_plugin = false

[analytics]
enabled = false

[model_providers.local]
name = "local"
base_url = "{url}/v1"
env_key = "LOCAL_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1
"""


class Codex(Program):
    """Codex with a model provider on loopback; with plugins on, it would look for some outside."""

    name = "codex"
    model = "gpt-5.6-sol"

    def environment(self, url: str) -> dict[str, str]:
        return {"LOCAL_KEY": "dummy"}

    def configure(self, home: Path, url: str) -> None:
        write_new(home / ".codex" / "config.toml", CONFIG.format(model=self.model, url=url))

    def command(self, prompt: str, *, resume: str | None = None) -> list[str]:
        argv = [str(self.executable), "exec", "--json", "--skip-git-repo-check"]
        return [*argv, "resume", resume, prompt] if resume else [*argv, prompt]

    def write_file(self, path: Path, content: str) -> Call:
        if not content.endswith("\n"):
            raise ValueError("Codex's patch tool ends every file with a newline: so must the content")
        added = "".join(f"+{line}\n" for line in content.removesuffix("\n").split("\n"))
        patch = f"*** Begin Patch\n*** Add File: {path}\n{added}*** End Patch"
        return Call("exec", f"text(await tools.apply_patch({json.dumps(patch)}))")

    def shell(self, command: str) -> Call:
        return Call("exec", f"text(await tools.exec_command({json.dumps({'cmd': command})}))")

    def usage_limit(self, resets_at: int) -> Fault:
        error = {
            "type": "usage_limit_reached",
            "message": "The usage limit has been reached",
            "plan_type": "plus",
            "resets_at": resets_at,
        }
        return Fault(429, {"error": error}, plan_limits(100, resets_at))

    def session_id(self, stdout: str) -> str:
        return first_value(stdout, "thread_id")


class Codex050(Codex):
    """Codex as it was in October 2025: its tools are functions."""

    name = "codex-0.50"
    model = "gpt-5-codex"

    def write_file(self, path: Path, content: str) -> Call:
        return self.shell(f"printf %s {shlex.quote(content)} > {shlex.quote(str(path))}")

    def shell(self, command: str) -> Call:
        return Call("shell", {"command": ["bash", "-c", command]})


def plan_limits(used_percent: float, resets_at: int) -> dict[str, str]:
    """The headers that tell how much of a plan's two windows is used; they come with good replies too."""
    return {
        "x-codex-primary-used-percent": str(used_percent),
        "x-codex-primary-window-minutes": "300",
        "x-codex-primary-reset-at": str(resets_at),
        "x-codex-secondary-used-percent": "40",
        "x-codex-secondary-window-minutes": "10080",
        "x-codex-secondary-reset-at": str(resets_at + DAY_S),
    }
