"""A machine with agents' transcripts on it, for tests of what Segue makes of them: written record by record, as
the agents write them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from segue.base import clock

START = "2026-11-16T08:00:00.000Z"


def at(minutes: float, start: str = START) -> str:
    """A time as Claude Code writes it, so many minutes after the start."""
    return clock.later(start[:-1] + "000Z", minutes * 60)[:-4] + "Z"


class Conversation:
    """A transcript of Claude Code in the making."""

    def __init__(self, home: Path, cwd: Path, id: str, *, agent: str = "") -> None:
        folder = home / ".claude" / "projects" / "".join(c if c.isalnum() else "-" for c in str(cwd))
        self.path = folder / id / "subagents" / f"agent-{agent}.jsonl" if agent else folder / f"{id}.jsonl"
        self.cwd, self.id, self.agent = cwd, id, agent
        self.count = 0
        self.parent: str | None = None
        self.minutes = 0.0
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.touch()

    def put(self, kind: str, **fields: Any) -> dict[str, Any]:
        self.count += 1
        record = {
            "parentUuid": self.parent,
            "isSidechain": bool(self.agent),
            "userType": "external",
            "cwd": str(self.cwd),
            "sessionId": self.id,
            "version": "2.1.20",
            "gitBranch": "main",
            **({"agentId": self.agent} if self.agent else {}),
            "type": kind,
            "uuid": f"{self.id}{self.agent}-{self.count}",
            "timestamp": at(self.minutes),
            **fields,
        }
        self.parent = str(record["uuid"])
        self.write(json.dumps(record, separators=(",", ":")) + "\n")
        return record

    def write(self, text: str) -> None:
        with self.path.open("a") as file:
            file.write(text)

    def prompt(self, text: str, minutes: float = 1) -> None:
        self.minutes += minutes
        self.put("user", message={"role": "user", "content": text})

    def reply(
        self,
        text: str,
        *,
        minutes: float = 1,
        model: str = "claude-opus-4-5-20251101",
        message: str = "",
        **tokens: int,
    ) -> None:
        self.minutes += minutes
        name = message or f"msg_{self.id}{self.agent}{self.count}"
        usage = {"input_tokens": 10, "output_tokens": 20, **tokens}
        self.put(
            "assistant",
            message={
                "model": model,
                "id": name,
                "type": "message",
                "role": "assistant",
                "content": [{"type": "text", "text": text}],
                "usage": usage,
            },
            requestId=f"req_{name}",
        )

    def limit(
        self, text: str = "You've hit your 5-hour limit · resets 1pm (UTC)", minutes: float = 1
    ) -> None:
        self.minutes += minutes
        self.put(
            "assistant",
            message={
                "model": "<synthetic>",
                "id": f"syn-{self.count}",
                "role": "assistant",
                "content": [{"type": "text", "text": text}],
                "usage": {"input_tokens": 0, "output_tokens": 0},
            },
            isApiErrorMessage=True,
            error="rate_limit",
        )

    def age(self, minutes: float) -> None:
        """Let the file be so many minutes older than the tests' now."""
        then = clock.parse("2026-11-16T09:30:00.000000Z").timestamp() - minutes * 60
        os.utime(self.path, (then, then))
