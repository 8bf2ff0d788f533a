"""A made-up machine: a person with three agents, one of them near its limit. Whole screens are tested on it, and the
screen in README.md is its first one (docs/generate.py)."""

from __future__ import annotations

import json
import os
from typing import Any

from segue.base import clock
from tests.conftest import START, CommandLine
from tests.world import Conversation, at

NOON = 1_794_830_400  # 2026-11-16 12:00 UTC


def furnish(cli: CommandLine) -> CommandLine:
    """A person with three agents, one of them near its limit."""
    programs = cli.folder / "bin"
    programs.mkdir()
    for name in ("claude", "codex", "gemini"):
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    invoices(cli)
    readme_of_the_cli(cli)
    exports(cli)
    for minutes, used in ((40, 71), (55, 79), (70, 86)):
        tell_status(cli, used, minutes)
    return cli


def invoices(cli: CommandLine) -> None:
    """This folder's work, in Claude Code, with a sub-agent."""
    talk = Conversation(cli.folder, cli.cwd, "6f0c1a52-3d0e-4b7f-9a55-0d5a9f3f9b10")
    talk.prompt("Our invoices are sometimes a cent off. Find out why and fix it.")
    talk.reply("I'll look at how totals are rounded.", cache_read_input_tokens=21_000, output_tokens=400)
    call(talk, "toolu_1", "Bash", {"command": "python -m pytest tests -q"}, "1 failed, 41 passed", 1)
    talk.prompt("Don't touch src/ledger/legacy.py, the auditors have signed it off.", minutes=30)
    talk.reply("Understood: legacy.py stays as it is.", cache_read_input_tokens=96_000, output_tokens=2_100)
    talk.reply(
        "Each line is rounded now, and the total is their sum. tests/test_invoice.py::test_credit_note still fails.",
        minutes=36,
        cache_read_input_tokens=161_000,
        output_tokens=5_300,
    )
    helper = Conversation(cli.folder, cli.cwd, talk.id, agent="a1f3")
    helper.prompt("Find every call of round() in src/ledger.")
    helper.reply("There are three.", model="claude-haiku-4-5-20251001", input_tokens=9_000, output_tokens=350)
    for each in (talk, helper):
        each.age(20)


def call(talk: Conversation, id: str, tool: str, arguments: dict[str, Any], output: str, status: int) -> None:
    block = {"type": "tool_use", "id": id, "name": tool, "input": arguments}
    message = {
        "model": "claude-opus-4-5-20251101",
        "id": f"msg_{id}",
        "role": "assistant",
        "content": [block],
    }
    talk.put("assistant", message=message)
    text = f"Exit code {status}\n{output}" if status else output
    result = {"type": "tool_result", "tool_use_id": id, "content": text, "is_error": bool(status)}
    talk.put("user", message={"role": "user", "content": [result]})


def readme_of_the_cli(cli: CommandLine) -> None:
    """Another project's, the evening before, that ran into a limit."""
    talk = Conversation(cli.folder, cli.folder / "tool", "c2b7e0d4-52a1-4b6e-8c0f-7d1e6a90b3c8")
    talk.minutes = -900
    talk.prompt("Rewrite the README of the command line.")
    talk.reply("Here is a first draft.", cache_read_input_tokens=12_000, output_tokens=1_800)
    talk.limit("You've hit your 5-hour limit · resets 10pm (UTC)")
    talk.age(980)


def exports(cli: CommandLine) -> None:
    """Another project's, in Codex."""
    id = "019f36b8-7808-7a31-b5a0-1f6f3f1f9d22"
    usage = {
        "input_tokens": 48_000,
        "cached_input_tokens": 40_000,
        "output_tokens": 900,
        "total_tokens": 48_900,
    }
    limits = {
        "limit_id": "codex",
        "primary": {"used_percent": 12.0, "window_minutes": 300, "resets_at": NOON + 3600},
        "secondary": {"used_percent": 33.0, "window_minutes": 10_080, "resets_at": NOON + 4 * 86_400},
    }
    info = {"total_token_usage": usage, "last_token_usage": usage, "model_context_window": 258_400}
    payloads = [
        ("session_meta", {"id": id, "cwd": str(cli.folder / "shop"), "cli_version": "0.142.5"}),
        ("turn_context", {"turn_id": "t-1", "cwd": str(cli.folder / "shop"), "model": "gpt-5.5"}),
        ("event_msg", {"type": "user_message", "message": "Export orders as CSV."}),
        ("event_msg", {"type": "agent_message", "message": "Done: shop export --csv."}),
        ("event_msg", {"type": "token_count", "info": info, "rate_limits": limits}),
    ]
    path = (
        cli.folder / ".codex" / "sessions" / "2026" / "11" / "16" / f"rollout-2026-11-16T08-10-00-{id}.jsonl"
    )
    path.parent.mkdir(parents=True)
    records = [
        {"timestamp": at(10 + n), "type": kind, "payload": payload}
        for n, (kind, payload) in enumerate(payloads)
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    then = clock.parse(START).timestamp() - 75 * 60
    os.utime(path, (then, then))


def tell_status(cli: CommandLine, five_hour: float, minutes: float) -> None:
    """What the status line kept, so many minutes after eight."""
    spool = cli.home / "data" / "spool"
    spool.mkdir(parents=True, exist_ok=True)
    for folder in (cli.home, cli.home / "data", spool):
        folder.chmod(0o700)
    status = {
        "session_id": "6f0c1a52-3d0e-4b7f-9a55-0d5a9f3f9b10",
        "model": {"id": "claude-opus-4-5-20251101"},
        "context_window": {"context_window_size": 200_000, "used_percentage": 80},
        "rate_limits": {
            "five_hour": {"used_percentage": five_hour, "resets_at": NOON},
            "seven_day": {"used_percentage": 41, "resets_at": NOON + 3 * 86_400},
        },
    }
    line = {"at": clock.later("2026-11-16T08:00:00.000000Z", minutes * 60), "status": status}
    with (spool / "statusline.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")
