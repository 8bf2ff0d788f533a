"""OpenCode: OpenAI Chat Completions, through its bundled client for compatible servers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .model_server import Call, Fault
from .program import Program, first_value, write_new


class OpenCode(Program):
    """OpenCode with a provider on loopback."""

    name = "opencode"
    model = "local/m1"

    def environment(self, url: str) -> dict[str, str]:
        switched_off = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
        return {f"OPENCODE_DISABLE_{what}": "1" for what in switched_off}

    def configure(self, home: Path, url: str) -> None:
        config: dict[str, Any] = {
            "autoupdate": False,
            "share": "disabled",
            "model": self.model,
            "small_model": self.model,
            "permission": {"*": "allow"},
            "provider": {
                "local": {
                    "npm": "@ai-sdk/openai-compatible",
                    "options": {"baseURL": f"{url}/v1", "apiKey": "dummy"},
                    "models": {
                        name: {"limit": {"context": 128_000, "output": 8_000}, "tool_call": True}
                        for name in ("m1", "m2")
                    },
                }
            },
        }
        write_new(home / ".config" / "opencode" / "opencode.json", json.dumps(config))

    def command(self, prompt: str, *, resume: str | None = None) -> list[str]:
        session = ["--session", resume] if resume else []
        return [str(self.executable), "run", "--format", "json", *session, prompt]

    def write_file(self, path: Path, content: str) -> Call:
        return Call("write", {"filePath": str(path), "content": content})

    def shell(self, command: str) -> Call:
        return Call("bash", {"command": command, "description": "Run a scripted command"})

    def usage_limit(self, resets_at: int) -> Fault:
        """Payment required. A 429 would not end OpenCode: it retries without a word and without end."""
        return Fault(402)

    def session_id(self, stdout: str) -> str:
        return first_value(stdout, "sessionID")
