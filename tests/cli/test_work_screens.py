"""Whole screens of what agents left behind: limits, transcripts, usage, sessions."""

from __future__ import annotations

import re
import time

import pytest
from inline_snapshot import snapshot

from tests.conftest import CommandLine
from tests.machine import furnish


@pytest.fixture(autouse=True)
def in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


@pytest.fixture
def machine(cli: CommandLine) -> CommandLine:
    return furnish(cli)


def tidy(cli: CommandLine, text: str) -> str:
    """Without what the folder of the tests adds: a name made of it, the start of a path that was cut, room for it."""
    encoded = "".join(c if c.isalnum() else "-" for c in str(cli.folder))
    text = re.sub(r"…\S*/ada/", "/ada/", text.replace(encoded, "-ada"))
    return re.sub(r"(?<=\S) {2,}", "  ", text)


def test_segue_alone_near_a_limit(machine: CommandLine) -> None:
    assert machine().out == snapshot("""\
Agents
  Claude Code  5h       █████████████████░░░   86%  full in about 28 min at this pace, resets 2026-11-16 12:00 (in 2 h 30 min)
               week     ████████░░░░░░░░░░░░   41%  resets 2026-11-19 12:00 (in 3 d 2 h)
  Codex        5h       ██░░░░░░░░░░░░░░░░░░   12%  resets 2026-11-16 13:00 (in 3 h 30 min)
               week     ██████░░░░░░░░░░░░░░   33%  resets 2026-11-20 12:00 (in 4 d 2 h)
  Gemini CLI   no limits reported yet

This folder  /ada/project
  s-8c60rhmjvbvf  Our invoices are sometimes a cent off. Find out why and fix it.
  Claude Code 6f0c1a52, last written 2026-11-16 09:09: 2 prompts
  used so far in 2 transcripts: 295,180 tokens, $0.34
  context  ████████████████░░░░   83%  full in about 16 min at this pace
  Opus 4.5 usage: 86% - Handoff recommended
  why: 86% of the 5h limit of the account used until 2026-11-16 12:00, past the threshold of 75%
       switching models won't help: the limit covers the whole account

next: segue to AGENT --dry-run previews a handoff, segue to AGENT hands over · commands: segue help
""")


def test_checking(machine: CommandLine) -> None:
    result = machine("check")
    assert result.code == 10
    assert result.out == snapshot("""\

======================================================================
Segue Handoff Status
======================================================================

Session ID: s-8c60rhmjvbvf
Token Usage: 166,310 / 200,000 (83.2%)
Should Handoff: YES
Reason: approaching_limit
Decided by: 86% of the 5h limit of the account used until 2026-11-16 12:00

""")
    assert machine("check", "--warning-only").out == snapshot("""\

======================================================================
Segue Handoff Status
======================================================================

Session ID: s-8c60rhmjvbvf
Token Usage: 166,310 / 200,000 (83.2%)
Should Handoff: NO
Reason: warning_threshold_reached
Decided by: 86% of the 5h limit of the account used until 2026-11-16 12:00

""")


def test_transcripts(machine: CommandLine) -> None:
    assert tidy(machine, machine("transcripts").out) == snapshot("""\
id  agent  last written  state  turns  tokens  project  title
6f0c1a52-3d0e  claude  2026-11-16 09:09  ended  2  295,180  /ada/project  Our invoices are sometimes a cent off. Find out why and fix…
019f36b8-7808  codex  2026-11-16 08:14  ended  1  48,900  /ada/shop  Export orders as CSV.
c2b7e0d4-52a1  claude  2026-11-15 17:03  died at a limit  1  13,810  /ada/tool  Rewrite the README of the command line.
""")
    assert tidy(machine, machine("transcripts", "--text", "auditors legacy", "--subagents").out) == snapshot("""\
id  agent  last written  state  turns  tokens  project  title
6f0c1a52-3d0e  claude  2026-11-16 09:09  ended  2  295,180  /ada/project  Our invoices are sometimes a cent off. Find out why and fix…
""")
    assert tidy(machine, machine("transcripts", "--text", "nowhere").out) == snapshot(
        "No matching transcripts. All: segue transcripts · Installed agents: segue doctor\n"
    )


def test_reading_a_transcript(machine: CommandLine) -> None:
    assert tidy(
        machine, machine("transcripts", "show", "6f0c1a52-3d0e-4b7f-9a55-0d5a9f3f9b10").out
    ) == snapshot("""\
claude  /ada/.claude/projects/-ada-project/6f0c1a52-3d0e-4b7f-9a55-0d5a9f3f9b10.jsonl
── 2026-11-16
08:01 prompt
  Our invoices are sometimes a cent off. Find out why and fix it.
08:02 reply
  I'll look at how totals are rounded.
08:02 call Bash
  {"command":"python -m pytest tests -q"}
08:02 result Bash → 1
  Exit code 1
  1 failed, 41 passed
08:32 prompt
  Don't touch src/ledger/legacy.py, the auditors have signed it off.
08:33 reply
  Understood: legacy.py stays as it is.
09:09 reply
  Each line is rounded now, and the total is their sum. tests/test_invoice.py::test_credit_note still fails.
""")
    assert tidy(machine, machine("transcripts", "show", "c2b7").out) == snapshot("""\
claude  /ada/.claude/projects/-ada-tool/c2b7e0d4-52a1-4b6e-8c0f-7d1e6a90b3c8.jsonl
── 2026-11-15
17:01 prompt
  Rewrite the README of the command line.
17:02 reply
  Here is a first draft.
17:03 limit
  You've hit your 5-hour limit · resets 10pm (UTC)
""")
    assert tidy(machine, machine("transcripts", "show", "019f").out) == snapshot("""\
codex  /ada/.codex/sessions/2026/11/16/rollout-2026-11-16T08-10-00-019f36b8-7808-7a31-b5a0-1f6f3f1f9d22.jsonl
── 2026-11-16
08:12 prompt
  Export orders as CSV.
08:13 reply
  Done: shop export --csv.
08:14 limits 5h 12% · week 33%
""")


def test_usage(machine: CommandLine) -> None:
    assert machine("usage").out == snapshot("""\
day          input  output  cache read  cache write    total   cost  models
2026-11-15      10   1,800      12,000            0   13,810  $0.05  claude-opus-4-5-20251101
2026-11-16  17,030   9,050     318,000            0  344,080  $0.43  claude-opus-4-5-20251101, gpt-5.5, claude-haiku-4-5-20251001
total       17,040  10,850     330,000            0  357,890  $0.48
""")
    assert machine("usage", "blocks").out == snapshot("""\
5-hour block               input  output  cache read  cache write    total   cost  models
2026-11-15 17:00 - 22:00      10   1,800      12,000            0   13,810  $0.05  claude-opus-4-5-20251101
2026-11-16 08:00 - 13:00  17,030   9,050     318,000            0  344,080  $0.43  now · claude-opus-4-5-20251101, gpt-5.5, claude-haiku-4-5-20251001
total                     17,040  10,850     330,000            0  357,890  $0.48
""")
    assert machine("usage", "sessions").out == snapshot("""\
session          input  output  cache read  cache write    total   cost  title
s-8c60rhmjvbvf   9,030   8,150     278,000            0  295,180  $0.34  Our invoices are sometimes a cent off. Find out why and fix…
s-7ypqhmvsjqr3   8,000     900      40,000            0   48,900  $0.09  Export orders as CSV.
s-1dxh3d8njdvm      10   1,800      12,000            0   13,810  $0.05  Rewrite the README of the command line.
total           17,040  10,850     330,000            0  357,890  $0.48
""")


def test_sessions_that_were_found(machine: CommandLine) -> None:
    assert machine("session", "list").out == snapshot(
        """\
   id              state  owner  last active       transcripts  title                                                         project
*  s-8c60rhmjvbvf  found  ada    2026-11-16 09:09  2            Our invoices are sometimes a cent off. Find out why and fix…  /ada/project
* this folder's session
"""
    )
    assert machine("session", "list", "--all").out == snapshot("""\
   id              state  owner  last active       transcripts  title                                                         project
*  s-8c60rhmjvbvf  found  ada    2026-11-16 09:09  2            Our invoices are sometimes a cent off. Find out why and fix…  /ada/project
   s-7ypqhmvsjqr3  found  ada    2026-11-16 08:14  1            Export orders as CSV.                                         /ada/shop
   s-1dxh3d8njdvm  found  ada    2026-11-15 17:03  1            Rewrite the README of the command line.                       /ada/tool
* this folder's session
""")
    assert machine("session", "info").out == snapshot("""\
Session      s-8c60rhmjvbvf
Title        Our invoices are sometimes a cent off. Find out why and fix it.
Status       found in transcripts, not saved yet
Owner        ada (epoch 1)
Project      /ada/project
Created      2026-11-16 08:01:00Z
Last active  2026-11-16 09:09:00Z
Rating       not rated
Transcripts  2
Handoffs     0
  6f0c1a52-3d0e-4b7f-9a55-0d5a9f3f9b10  claude            Our invoices are sometimes a cent off. Find out why and fix…
  agent-a1f3                            claude  subagent  Find every call of round() in src/ledger.
""")


def test_rating(machine: CommandLine) -> None:
    assert machine("rate", "2").out == snapshot(
        """\
Rated 2 of 5: s-8c60rhmjvbvf  Our invoices are sometimes a cent off. Find out why and fix…
To undo: segue undo
"""
    )
    assert machine("session", "list").out == snapshot(
        """\
   id              state  owner  last active       transcripts  title                                                         project
*  s-8c60rhmjvbvf  open   ada    2026-11-16 09:30  2            Our invoices are sometimes a cent off. Find out why and fix…  /ada/project
* this folder's session
"""
    )


def test_models_to_hand_to(machine: CommandLine) -> None:
    assert machine("handoff", "models").out == snapshot(
        "No models are listed. Add some: segue handoff models --add opus --add sonnet\n"
    )
    added = machine(
        "handoff", "models", "--add", "sonnet", "--add", "gpt-5.5", "--add", "fast=opencode:qwen3"
    )
    assert added.out == snapshot("""\
sonnet   claude:sonnet
gpt-5.5  codex:gpt-5.5
fast     opencode:qwen3  not installed
""")
    assert machine("handoff", "models", "--add", "mystery").err == snapshot("""\
error: There is no agent or model 'mystery'.
 next: segue handoff models --add mystery=AGENT:MODEL (agents: claude, codex, gemini, opencode, copilot, qwen, pi, aider, ollama, llm, demo)
""")
