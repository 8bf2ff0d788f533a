"""Gemini CLI: Gemini's own protocol."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .model_server import Call, Fault
from .program import Program, first_value, write_new

SETTINGS: dict[str, Any] = {
    "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False, "maxAttempts": 2},
}


class Gemini(Program):
    """Gemini CLI with a model by name; its "auto" asks a second model first."""

    name = "gemini"
    model = "gemini-2.5-pro"

    def environment(self, url: str) -> dict[str, str]:
        return {"GEMINI_API_KEY": "dummy", "GOOGLE_GEMINI_BASE_URL": url}

    def configure(self, home: Path, url: str) -> None:
        write_new(home / ".gemini" / "settings.json", json.dumps(SETTINGS))

    def command(self, prompt: str, *, resume: str | None = None) -> list[str]:
        return [
            str(self.executable),
            "--model",
            self.model,
            "--prompt",
            prompt,
            "--yolo",
            "--output-format",
            "stream-json",
            *(["--resume", resume] if resume else []),
        ]

    def write_file(self, path: Path, content: str) -> Call:
        return Call("write_file", {"file_path": str(path), "content": content})

    def shell(self, command: str) -> Call:
        return Call("run_shell_command", {"command": command, "description": "Run a scripted command"})

    def usage_limit(self, resets_at: int) -> Fault:
        """The daily quota; Gemini's refusal does not tell when it ends."""
        violation = {
            "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
            "quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier",
            "quotaValue": "50",
        }
        failure = {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [violation]}
        error = {
            "code": 429,
            "message": "You exceeded your current quota",
            "status": "RESOURCE_EXHAUSTED",
            "details": [failure],
        }
        return Fault(429, {"error": error})

    def session_id(self, stdout: str) -> str:
        return first_value(stdout, "session_id")
