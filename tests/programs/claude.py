"""Claude Code: Anthropic Messages."""

from __future__ import annotations

from pathlib import Path

from .model_server import Call, Fault
from .program import Program, first_value

SUBSCRIPTION = {"CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-dummy", "ANTHROPIC_API_KEY": ""}
"""Environment of somebody with a subscription: only then Claude Code heeds the limits of a plan."""

DAY_S = 86_400


class Claude(Program):
    """Claude Code with an API key that is none."""

    name = "claude"
    model = "claude-sonnet-4-5"

    def environment(self, url: str) -> dict[str, str]:
        return {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "sk-ant-dummy-000",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "1",  # the default waits for minutes
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "IS_SANDBOX": "1",  # as root, permissions can't be skipped without it
        }

    def configure(self, home: Path, url: str) -> None:
        """Nothing: the environment says it all."""

    def command(self, prompt: str, *, resume: str | None = None) -> list[str]:
        return [
            str(self.executable),
            "--print",
            prompt,
            "--model",
            self.model,
            "--output-format",
            "stream-json",
            "--verbose",
            "--dangerously-skip-permissions",
            *(["--resume", resume] if resume else []),
        ]

    def write_file(self, path: Path, content: str) -> Call:
        return Call("Write", {"file_path": str(path), "content": content})

    def shell(self, command: str) -> Call:
        return Call("Bash", {"command": command, "description": "Run a scripted command"})

    def usage_limit(self, resets_at: int) -> Fault:
        return refusal(resets_at)

    def session_id(self, stdout: str) -> str:
        return first_value(stdout, "session_id")


class Claude20(Claude):
    """Claude Code as it was at the end of 2025."""

    name = "claude-2.0"


class Claude10(Claude):
    """Claude Code as it was in September 2025, before it gave limits a field of their own."""

    name = "claude-1.0"


def refusal(resets_at: int, claim: str = "five_hour") -> Fault:
    """What the vendor answers once a window of a plan is used up."""
    return Fault(429, headers={**plan_limits("rejected", 1.0, resets_at, claim), "x-should-retry": "false"})


def plan_limits(status: str, used: float, resets_at: int, claim: str = "five_hour") -> dict[str, str]:
    """The headers that tell the state of a plan: "allowed", "allowed_warning" or "rejected". The claim says
    which of its windows that is about: "five_hour", "seven_day", or "seven_day_opus" and the like."""
    windows = {"five_hour": ("allowed", 0.3, resets_at), "seven_day": ("allowed", 0.4, resets_at + DAY_S)}
    windows[claim] = (status, used, resets_at)
    headers = {"status": status, "reset": str(resets_at), "representative-claim": claim}
    for name, (state, share, reset) in windows.items():
        short = name.replace("five_hour", "5h").replace("seven_day", "7d")
        headers |= {
            f"{short}-status": state,
            f"{short}-utilization": str(share),
            f"{short}-reset": str(reset),
        }
    return {f"anthropic-ratelimit-unified-{name}": value for name, value in headers.items()}
