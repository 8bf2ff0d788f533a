"""Whole screens, as a person sees them, with a still clock and numbered ids."""

from __future__ import annotations

import re

import pytest
from inline_snapshot import snapshot

from tests.conftest import CommandLine


def test_the_first_screen(cli: CommandLine) -> None:
    assert cli("help").out == snapshot("""\
segue            each agent's limits, and the latest session in this folder
segue to AGENT   continue this work in another agent
segue back       return to the previous agent; checks the work done meanwhile first
segue run TASK   work unattended; switch agents at a limit, return at the reset
segue show       what was passed, what was not, and why
segue undo       undo Segue's last operation (never your code)
Set up: segue init · Check: segue doctor · All commands: segue help --all
""")
    assert cli("--help").out == cli("-h").out == cli("help").out


def test_everything_by_topic(cli: CommandLine) -> None:
    assert cli("help", "--all").out == snapshot("""\
Start here
  segue             each agent's limits, and the latest session in this folder
  segue demo        watch one handoff from end to end, in a scratch folder
  segue help        this list, or one command's own help
  segue version     the version
  segue completion  completion for bash, zsh or fish

Hand over
  segue to                continue this work in another agent
  segue back              return to the previous agent; checks the work done meanwhile first
  segue run               work unattended; switch agents at a limit, return at the reset
  segue run start         start a run; the same as segue run TASK
  segue run status        show the runs of this folder, or the run with this id
  segue run attach        follow a run's output until it ends
  segue run stop          stop a run and its agent
  segue run resume        resume a stopped or abandoned run
  segue verify            check an agent's claims; exits non-zero if one fails
  segue handoff           hand over step by step: prepare, execute, validate; models and settings
  segue handoff status    show every agent's limits, this folder's session, and what to do next
  segue handoff init      set up the agents on this machine: hooks and a status line
  segue handoff prepare   package the context for another agent
  segue handoff execute   start the target with a prepared handoff: ID, the latest one, or a new one with --to
  segue handoff validate  check that the target's transcript contains the handoff; exits 1 if not
  segue handoff list      list the handoffs of this folder, newest first
  segue handoff show      show a handoff (the latest one of this folder by default): state, delivery, outcome
  segue handoff cancel    cancel a prepared handoff
  segue handoff models    list the models that work may be handed to, and what each name refers to
  segue handoff config    set thresholds and preferences: --opus-limit 80% --auto-switch true --preserve complete
  segue history           the latest handoffs and their outcomes
  segue history show      list the latest handoffs of this folder: trigger, preserved context, satisfaction
  segue save              save the state of this work as a JSON file
  segue load              print the latest saved state, or one by its id
  segue list              list all saved states
  segue init              set up agents: hooks and a status line; --undo removes them
  segue mcp               serve Segue's tools to agents over MCP

Limits and usage
  segue status      the same screen as `segue`: limits, this folder, next step
  segue watch       the same screen, refreshed
  segue check       is a handoff due? exits 10 if it is
  segue usage       tokens and cost by day, week, block, session or model
  segue statusline  an agent's status line: shows and records its limits

Work
  segue transcripts          list, search and read agents' transcripts on this machine
  segue transcripts confirm  confirm that the transcripts an agent keeps in a project folder are yours
  segue transcripts show     print one transcript: ID is its id, a prefix of it, or a file
  segue session              list, create, link and close sessions
  segue session create       start a session for this folder
  segue session list         list sessions: saved ones, and those found in this folder's transcripts
  segue session info         show one session (this folder's by default)
  segue session use          make a session this folder's current session
  segue session link         add transcripts of any agent or folder to a session
  segue session close        close a finished session
  segue pack                 turn a transcript into a brief for the next agent
  segue show                 what was passed, what was not, and why
  segue diff                 compare two briefs, handoffs or moments
  segue task                 show a session's task; correct it
  segue task show            show the task, derived from transcripts; your edits take precedence
  segue task edit            correct the task; without options, in $VISUAL or $EDITOR
  segue rate                 rate this folder's latest handoff from 1 to 5
  segue protocol             check handoff documents, reduce them to a narrower tier, print their schema
  segue protocol check       check that a handoff document fits its tier; exits 1 if not
  segue protocol reduce      print a handoff document reduced to a narrower tier, and list what was removed
  segue protocol schema      print the JSON Schema of handoff documents, or of the built-in answer NAME
  segue redact               print a file with its secrets replaced by placeholders

History
  segue log         list operations: what changed, when, by whom; verify the log
  segue log show    show one operation: its values before and after
  segue log verify  check that no operation was altered or removed
  segue undo        undo Segue's last operation (never your code)

Settings
  segue config        read and change settings
  segue config get    show one setting and where its value comes from
  segue config list   show all settings and where their values come from
  segue config set    change one setting
  segue config unset  remove one setting from the file
  segue config edit   open your settings in $VISUAL or $EDITOR; invalid settings are not applied
  segue config path   show the paths of settings files and of Segue's data
  segue trust         trust this project's settings file

Maintenance
  segue doctor          check settings, stores and agents, and suggest fixes
  segue backup          make, list and restore backups of the store
  segue backup make     write the whole store into one file
  segue backup list     list the backups, newest first
  segue backup restore  restore the store from a backup: NAME from the list, a file, or 'latest'

Planned (not implemented yet)
  segue subagent  run a helper agent on part of a task
  segue consult   ask another model a question
  segue delegate  give a part of the work to another model
  segue ping      send a message from one model to another
  segue chat      chat in a session that hands itself over at a limit
  segue give      hand this work, code included, to a colleague
  segue take      accept work that was handed to you

All commands take --help, nearly all take --json. Override a setting for one run: segue --set KEY=VALUE ...
""")


def test_one_commands_own_help(cli: CommandLine) -> None:
    assert cli("help", "session", "create").out == snapshot("""\
Usage: segue session create [OPTIONS]

  Start a session for this folder.

Options:
  --title TEXT  What it is about; the folder's name by default.
  --key TEXT    Idempotency key: the same key returns the same session.
  --json        Print JSON.
  --debug       Show the traceback of an error.
  -h, --help    Show this message and exit.
""")


def test_segue_alone_on_an_empty_home(cli: CommandLine) -> None:
    assert cli().out == snapshot("""\
Agents
  none found on PATH (supported agents: segue doctor)

This folder  /ada/project
  no sessions here yet

next: segue transcripts lists this machine's transcripts · segue demo shows a handoff · commands: segue help
""")
    assert not cli.home.exists()


def test_segue_alone_with_agents_and_work(cli: CommandLine) -> None:
    programs = cli.folder / "bin"
    programs.mkdir()
    for name in ("claude", "codex"):
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    cli("session", "create", "--title", "Invoices a cent off")
    assert cli().out == snapshot("""\
Agents
  Claude Code  no limits reported yet (run `segue init` to record them)
  Codex        no limits reported yet

This folder  /ada/project
  s-000000000001  Invoices a cent off
  it has no transcript yet (segue session link adds one)

next: segue transcripts lists this machine's transcripts · segue demo shows a handoff · commands: segue help
""")


def test_sessions(cli: CommandLine) -> None:
    assert cli("session", "list").out == snapshot(
        "No sessions here yet. Start one: segue session create · All folders: segue session list --all\n"
    )
    assert cli("session", "create", "--title", "Invoices a cent off").out == snapshot(
        "Session s-000000000001: Invoices a cent off\n"
    )
    assert cli("session", "create").out == snapshot("Session s-000000000002: project\n")
    assert cli("session", "close", "s-000000000002").out == snapshot(
        "Closed. To reopen it: segue undo op-000000000003\n"
    )
    assert cli("session", "list").out == snapshot("""\
   id              state   owner  last active       transcripts  title                project
   s-000000000002  closed  ada    2026-11-16 09:30  0            project              /ada/project
*  s-000000000001  open    ada    2026-11-16 09:30  0            Invoices a cent off  /ada/project
* this folder's session
""")
    assert cli("session", "info", "s-000000000001").out == snapshot("""\
Session      s-000000000001
Title        Invoices a cent off
Status       open
Owner        ada (epoch 1)
Project      /ada/project
Created      2026-11-16 09:30:00Z
Last active  2026-11-16 09:30:00Z
Rating       not rated
Transcripts  0
Handoffs     0
""")


def test_the_log_and_undoing(cli: CommandLine) -> None:
    assert cli("log").out == snapshot("No operations yet.\n")
    cli("session", "create", "--title", "one")
    cli("session", "close", "s-000000000001")
    assert cli("undo").out == snapshot(
        "Undid op-000000000002 (session.closed of session:s-000000000001). To redo it: segue undo op-000000000003\n"
    )
    assert cli("log").out == snapshot("""\
op-000000000003  2026-11-16 09:30:04Z  ada  session.undone   session:s-000000000001
op-000000000002  2026-11-16 09:30:03Z  ada  session.closed   session:s-000000000001
op-000000000001  2026-11-16 09:30:01Z  ada  session.created  session:s-000000000001
""")
    shown = cli("log", "show", "op-000000000002").out
    assert re.sub("[0-9a-f]{64}", "HASH", shown) == snapshot("""\
Operation  op-000000000002
Kind       session.closed
Subject    session:s-000000000001
Actor      ada
At         2026-11-16 09:30:03Z
Chain      s-000000000001, link 2
Hash       HASH

  status: open → closed
  updated_at: 2026-11-16T09:30:00.000000Z → 2026-11-16T09:30:02.000000Z
""")
    assert cli("log", "verify").out == snapshot("✓ 1 chain verified: no operation is missing or altered.\n")
    assert cli("undo").out == snapshot(
        "Undid op-000000000001 (session.created of session:s-000000000001). To redo it: segue undo op-000000000004\n"
    )
    assert cli("undo").err == snapshot("""\
error: You have nothing to undo among the last 500 operations.
 next: segue log shows who did what
""")
    assert cli("undo", "op-000000000004").out == snapshot(
        "Undid op-000000000004 (session.undone of session:s-000000000001). To redo it: segue undo op-000000000005\n"
    )


def test_settings(cli: CommandLine) -> None:
    cli("handoff", "config", "--opus-limit", "80%")
    assert cli("config", "list").out == snapshot("""\
handoff.auto         false     default
handoff.auto_switch  false     default
handoff.preserve     standard  default
handoff.models       (none)    default
limits.recommend     75%       default
limits.urgent        90%       default
limits.models.opus   80%       user file /ada/home/settings.toml:2
run.chain            (none)    default
run.week             60%       default
run.prewarm          false     default
vendors.allowed      (none)    default
redact.allow         (none)    default
mcp.allow            (none)    default
verify.test_command  (none)    default
verify.run_tests     false     default
store.url            (none)    default
store.busy_seconds   30        default
user.name            ada       environment SEGUE_USER_NAME
""")
    assert cli("config", "get", "limits.models.opus").out == snapshot("""\
limits.models.opus = 80%
  from user file /ada/home/settings.toml:2
  the share for one model, as limits.models.NAME; expects a whole percentage from 1% to 100%
""")
    assert cli("config", "set", "handoff.preserve", "complete").out == snapshot(
        "handoff.preserve = complete  (was not set; in /ada/home/settings.toml)\n"
    )
    assert re.sub(" {2,}", "  ", cli("config", "path").out) == snapshot("""\
user file  /ada/home/settings.toml
project file  /ada/project/.segue.toml  (missing)
policy  /etc/segue/policy-of-the-tests.toml  (missing)
data  /ada/home/data  (missing)  stores and backups
log  /ada/home/segue.log  (missing)  full error reports
""")


def test_backups(cli: CommandLine) -> None:
    assert cli("backup", "list").out == snapshot("No backups yet. Make one: segue backup make\n")
    cli("session", "create")
    made = cli("backup", "make").out
    assert re.sub(r"-[0-9a-f]{6}\.|\d{3} B", "-x.", made) == snapshot(
        "✓ /ada/home/data/backups/segue-20261116T093002-x.segue-backup (-x.)\n"
    )


def test_the_doctor_on_an_empty_home(cli: CommandLine) -> None:
    screen = re.sub(r"Python \S+ at \S+", "Python X at P", cli("doctor").out)
    assert screen == snapshot("""\
✓ python        Python X at P
✓ settings      read from the defaults
✓ folders       /ada/home/data: not created yet
✓ local store   not created yet
✓ index         not created yet (run segue transcripts)
✓ shared store  not created yet: the first session or handoff creates it
· agents        not on PATH: Claude Code (claude), Codex (codex), Gemini CLI (gemini), OpenCode (opencode), Copilot CLI (copilot), Qwen Code (qwen), pi (pi), aider (aider), Ollama (ollama)
                → install the agents that you want to use

No problems found.
""")


def test_the_doctor_with_a_store_and_agents(cli: CommandLine) -> None:
    programs = cli.folder / "bin"
    programs.mkdir()
    versions = {
        "claude": "echo '2.1.325 (Claude Code)'",
        "codex": "echo codex-cli 0.99.0",
        "gemini": "exit 3",
    }
    for name, line in versions.items():
        (programs / name).write_text(f"#!/bin/sh\n{line}\n")
        (programs / name).chmod(0o755)
    cli("session", "create")
    screen = re.sub(r"Python \S+ at \S+", "Python X at P", cli("doctor").out)
    assert re.sub(r"SQLite \S+ with the \w+", "SQLite X with the Y", screen) == snapshot("""\
✓ python        Python X at P
✓ settings      read from the defaults
✓ folders       /ada/home/data: private
✓ local store   not created yet
✓ index         not created yet (run segue transcripts)
✓ shared store  /ada/home/data/shared/store.db: schema 6
✓ shared store  SQLite X with the Y journal
✓ log           all chains verified (1)
✓ blobs         all blobs match their hashes
✓ agents        Claude Code 2.1.325 at /ada/bin/claude
· agents        Codex 0.99.0 at /ada/bin/codex; Segue is tested with 0.169.0
                → nothing to do unless handoffs fail
✗ agents        Gemini CLI at /ada/bin/gemini: '--version' exited with 3 and printed no version
                → run /ada/bin/gemini --version to see the error
· agents        not on PATH: OpenCode (opencode), Copilot CLI (copilot), Qwen Code (qwen), pi (pi), aider (aider), Ollama (ollama)
                → install the agents that you want to use

1 problem found.
""")


def test_the_demonstration(cli: CommandLine) -> None:
    assert cli("demo").out == snapshot("""\
1. An agent's transcript
   36 entries, 7.6 kB: a bug in invoices, half fixed.
2. Near its limit
   183,412 of 200,000 tokens used (92%), past the urgent threshold of 90%.
   urgency high: the agent would soon stop and lose its context.
3. Packed
   package 20.1 kB (2.8 kB stored); brief 539 of 550 tokens, tier SELECTIVE:

   │ What the user insists on, word for word
   │ [1] Our invoices are sometimes a cent off. Find out why and fix it. Don't touch src/ledger/legacy.py, the auditors have signed it off.
   │ [2] Per line is right, the tax office wants it that way. Use ROUND_HALF_EVEN though, never half up.
   │ [3] Good. Before you go on: only use the standard library, we can't add dependencies in this release.
   │ Files, in their current state
   │ src/ledger/money.py: created · ROUND_HALF_EVEN
   │ src/ledger/tax.py: edited
   │ src/ledger/rates.py: edited
   │ scratch/compare.py: deleted
   │ src/ledger/invoice.py: edited · to_cents
   │ Names in use: tests/test_invoice.py, ledger/credit.py
   │ Failed attempts
   │ `python -m pytest tests -q`: failed with status 1 (40 passed, 1 failed)
   │ Failing tests
   │ tests/test_invoice.py::test_credit_note
   │ Open errors
   │ FAILED tests/test_invoice.py::test_credit_note - AssertionError: assert Decimal('-10.01') == Decimal('-10.00')
   │ The agent's last words
   │ A credit note is now a cent off: its lines are negative, and one of them is still built from a float in src/ledger/credit.py.
   │ Next: build the lines of a credit note from Decimal in src/ledger/credit.py, then run tests/test_invoice.py again.
   │ Next step
   │ Next: build the lines of a credit note from Decimal in src/ledger/credit.py, then run tests/test_invoice.py again.

4. Handed over
   to a separate program that knows only the brief. Its transcript was read back: it contains the brief, byte for byte.
5. Proved
   ✓ What has the user forbidden, insisted on, or corrected?  Our invoices are sometimes a cent off. Find out why and fix it. Don't touch src/ledger/legacy.py, the auditors have signed it off.; Per line is right, the tax office wants it that way. Use ROUND_HALF_EVEN though, never half up.; Good. Before you go on: only use the standard library, we can't add dependencies in this release.
   ✓ Which tests fail?  tests/test_invoice.py::test_credit_note
   ✓ Which errors are still open?  FAILED tests/test_invoice.py::test_credit_note - AssertionError: assert Decimal('-10.01') == Decimal('-10.00')
   ✓ What did the agent say that it would do next?  Next: build the lines of a credit note from Decimal in src/ledger/credit.py, then run tests/test_invoice.py again.
   ✓ Which files were created, edited, renamed or deleted last?  src/ledger/money.py; src/ledger/tax.py; src/ledger/rates.py; scratch/compare.py; src/ledger/invoice.py
   ✓ Which command failed last?  python -m pytest tests -q
6. Receipt
   20 facts passed, 4 recoverable, 8 not passed:
   · test tests/test_invoice.py::test_total: passing
   · test tests/test_invoice.py::test_empty: passing
   · content src/ledger/money.py: not at tier SELECTIVE
   · error FAILED tests/test_tax.py::test_rate_from_text - TypeError: unsupported operand type(s) for *: 'decimal.Decimal' and 'float': resolved
   · test tests/test_tax.py::test_rate_from_text: passing
   · name ledger/legacy.py: over budget
   · talk e2: not at tier SELECTIVE
   · talk e9: not at tier SELECTIVE
   · overall: the conversation itself (kept in the package)
   handoff h-000000000001 is validated; 10 operations in the log, its chain verifies.

The scratch folder was deleted. To keep it: segue demo --keep DIR
""")


MISTAKES = [
    ["lgo"],
    ["nonsense"],
    ["to", "sonnet"],
    ["session", "info", "zz"],
    ["session", "craete"],
    ["log", "--limit", "many"],
    ["config", "get", "limit.recommend"],
    ["config", "set", "limits.urgent", "900"],
    ["backup", "restore", "yesterday", "--yes"],
    ["undo"],
    ["trust"],
    ["completion", "tcsh"],
    ["session", "create", "--title", "two\nlines"],
]


def test_mistakes(cli: CommandLine) -> None:
    screens = [f"$ segue {' '.join(arguments)}\n{cli(*arguments).err}" for arguments in MISTAKES]
    assert "\n".join(screens) == snapshot("""\
$ segue lgo
error: Unknown command 'lgo'.
 next: segue log

$ segue nonsense
error: Unknown command 'nonsense'.
 next: segue help --all

$ segue to sonnet
error: Claude Code is not installed: there is no 'claude' on PATH.
 next: segue doctor lists the installed agents; nothing was changed

$ segue session info zz
error: There is no session 'zz'.
 next: segue session list --all

$ segue session craete
error: No such command 'craete'. Did you mean 'create'?
 next: segue session --help

$ segue log --limit many
error: Invalid value for '--limit': 'many' is not a valid integer range.
 next: segue log --help

$ segue config get limit.recommend
error: On the command line: there is no setting 'limit.recommend'. Did you mean limits.recommend?
 next: segue config list shows every setting

$ segue config set limits.urgent 900
error: On the command line: invalid value '900' for limits.urgent: expected a whole percentage from 1% to 100%.
 next: segue config get limits.urgent shows the current value

$ segue backup restore yesterday --yes
error: There is no backup 'yesterday'.
 next: segue backup list

$ segue undo
error: You have nothing to undo: there is no store yet.
 next: segue log shows who did what

$ segue trust
error: There is no project file '.segue.toml'.
 next: segue config set --project KEY VALUE creates it

$ segue completion tcsh
error: Invalid value for '{bash|zsh|fish}': 'tcsh' is not one of 'bash', 'zsh', 'fish'.
 next: segue completion --help

$ segue session create --title two
lines
error: A session's title must be one line of at most 200 characters.
 next: segue session create --help
""")


def test_an_error_for_a_program_is_json(cli: CommandLine) -> None:
    result = cli("session", "info", "zz", "--json")
    assert (result.code, result.out, result.err) == snapshot(
        (
            1,
            "",
            '{"error":"NotFound","message":"There is no session \'zz\'.","next":"segue session list --all","exit_code":1}\n',
        )
    )


@pytest.mark.parametrize(
    "arguments", [["session", "list"], ["log"], ["config", "list"], ["doctor"], ["help", "--all"]]
)
def test_no_colour_reaches_a_pipe(cli: CommandLine, arguments: list[str]) -> None:
    cli("session", "create")
    assert "\x1b" not in cli(*arguments).out
