"""Whole screens, as a person sees them, with a still clock and numbered ids."""

from __future__ import annotations

import re

import pytest
from inline_snapshot import snapshot

from tests.conftest import CommandLine


def test_the_first_screen(cli: CommandLine) -> None:
    assert cli("help").out == snapshot("""\
segue            what each agent has left, and what this folder was doing
segue to AGENT   continue this work in another agent
segue back       return to the agent you came from; the work done meanwhile is checked first
segue run TASK   work unattended; move on at a limit, return at the reset
segue give WHO   hand this work, code included, to a colleague
segue take       accept what was handed to you
segue show       what was passed, what was not, and why
segue undo       take back Segue's last step (never your code)
Set up: segue init · Check: segue doctor · Everything: segue help --all
""")
    assert cli("--help").out == cli("-h").out == cli("help").out


def test_everything_by_topic(cli: CommandLine) -> None:
    assert cli("help", "--all").out == snapshot("""\
Start here
  segue             what each agent has left, and what this folder was doing
  segue demo        watch one handoff from end to end, in a scratch folder
  segue help        this list, or one command's own help
  segue version     the version
  segue completion  completion for bash, zsh or fish

Hand over
  segue to                continue this work in another agent
  segue back              return to the agent you came from; the work done meanwhile is checked first
  segue run               work unattended; move on at a limit, return at the reset
  segue run start         begin a run: the same as segue run TASK
  segue run status        how the runs of this folder stand, or the one with this id
  segue run attach        read along what a run does, until it ends
  segue run stop          end a run, and the agent that is at work for it
  segue run resume        go on with a run that was stopped or left
  segue verify            check what an agent says it did; the exit code tells
  segue handoff           step by step: prepare, execute, validate; models, settings
  segue handoff status    show every agent's limits, this folder's session, and what to do next
  segue handoff init      set up the agents on this machine: hooks and a status line
  segue handoff prepare   package the context for another agent
  segue handoff execute   start the target with what was prepared: the one with this ID, the last one, or a new one with --to
  segue handoff validate  look at what the target holds, in its own records; exit code 1 if that proves nothing
  segue handoff list      the handoffs of this folder, the last first; with --all, of every folder
  segue handoff show      one handoff, the last one of this folder if none is named: where it stands, how it went, what it kept
  segue handoff cancel    put a handoff aside that was prepared and not started
  segue handoff models    list the models that work may be handed to, and what their names stand for
  segue handoff config    set thresholds and preferences: --opus-limit 80% --auto-switch true --preserve complete
  segue history           the last handoffs, and how they went
  segue history show      the last handoffs of this folder: what set them off, what they kept, how content the person was
  segue save              save the state of this work as a JSON file
  segue load              what was saved last, or under an id
  segue list              everything that was saved
  segue init              set up agents: hooks and a status line, or --undo
  segue mcp               Segue's tools for agents, over MCP

Limits and usage
  segue status      what `segue` alone shows: limits, this folder, what to do
  segue watch       the same, kept up to date
  segue check       whether to hand over now; the exit code tells
  segue usage       tokens and money by day, week, block, session, model
  segue statusline  a status line for an agent: shows and records its limits

Work
  segue transcripts          what agents left on this machine: list, search, read
  segue transcripts confirm  confirm that the transcripts an agent keeps in a project folder are yours
  segue transcripts show     read one transcript: ID is its id, the start of it, or a file
  segue session              the pieces of work that handoffs belong to
  segue session create       start a session for this folder
  segue session list         show sessions: those kept, and those found in this folder
  segue session info         show one session; this folder's if no ID is given
  segue session use          make a session the one of this folder
  segue session link         add transcripts to a session, whichever agent or folder they are from
  segue session close        close a session: the work is done
  segue pack                 make a brief of a transcript: what the next agent needs
  segue show                 what was passed, what was not, and why
  segue diff                 compare two briefs, handoffs or moments
  segue task                 what a session is about; say it yourself where it is wrong
  segue task show            show the task, derived from what was said and done, with what you said of it in its place
  segue task edit            say what the task is; without options, in $VISUAL or $EDITOR
  segue rate                 rate this folder's last handoff from 1 to 5
  segue protocol             handoff documents: check, reduce to a narrower tier, schema
  segue protocol check       say whether a handoff document keeps to its tier: FILE is YAML or JSON, - is stdin; exit code 1 if not
  segue protocol reduce      print a handoff document at a narrower tier, and say what fell away
  segue protocol schema      print the JSON Schema of the handoff document, or of an answer that Segue knows by NAME
  segue redact               a file with a placeholder for every secret in it

History
  segue log         what was changed, by whom and when; verify that it is whole
  segue log show    show one operation: what it changed from and to
  segue log verify  check that nothing in the record was changed or removed
  segue undo        take back Segue's last step (never your code)

Settings
  segue config        read and change settings
  segue config get    show one setting, and where its value comes from
  segue config list   show every setting, and where its value comes from
  segue config set    change one setting
  segue config unset  take one setting out of the file again
  segue config edit   open your settings in $VISUAL or $EDITOR; what cannot be read does not take effect
  segue config path   show the files that settings come from, and where Segue keeps its things
  segue trust         let this project's own settings file do more than narrow

Keeping it well
  segue doctor          check settings, stores and agents, and say how to mend them
  segue backup          make, list and restore backups of the store
  segue backup make     write the whole store, as it is at this moment, into one file
  segue backup list     show the backups, the newest first
  segue backup restore  make the store what it was: NAME is from the list, a file, or 'latest'

Not in this version yet
  segue subagent  helpers for parts of a task
  segue consult   ask another model a question
  segue delegate  give a part of the work to another model
  segue ping      a message from one model to another
  segue chat      a session that hands itself over
  segue give      hand this work to a colleague
  segue take      accept what was handed to you

Nearly every command takes --json; all take --help. Settings for one run: segue --set KEY=VALUE ...
""")


def test_one_commands_own_help(cli: CommandLine) -> None:
    assert cli("help", "session", "create").out == snapshot("""\
Usage: segue session create [OPTIONS]

  Start a session for this folder.

Options:
  --title TEXT  What it is about; the folder's name if not given.
  --key TEXT    An idempotency key: a second run with it gives the same
                session.
  --json        Print JSON, for programs.
  --debug       Show the traceback of what goes wrong.
  -h, --help    Show this message and exit.
""")


def test_segue_alone_on_an_empty_home(cli: CommandLine) -> None:
    assert cli().out == snapshot("""\
Agents
  none found on PATH; segue doctor tells which ones Segue knows

This folder  /ada/project
  no agent has left anything here yet

next: segue transcripts lists this machine's transcripts · segue demo shows a handoff · segue help shows the commands
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
  Claude Code  limits not reported yet; segue init has them recorded
  Codex        limits not reported yet

This folder  /ada/project
  s-000000000001  Invoices a cent off
  it has no transcript yet (segue session link adds one)

next: segue transcripts lists this machine's transcripts · segue demo shows a handoff · segue help shows the commands
""")


def test_sessions(cli: CommandLine) -> None:
    assert cli("session", "list").out == snapshot(
        "No sessions here yet. segue session create makes one; segue session list --all looks everywhere.\n"
    )
    assert cli("session", "create", "--title", "Invoices a cent off").out == snapshot(
        "Session s-000000000001: Invoices a cent off\n"
    )
    assert cli("session", "create").out == snapshot("Session s-000000000002: project\n")
    assert cli("session", "close", "s-000000000002").out == snapshot(
        "Closed. segue undo opens it again (op-000000000003).\n"
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
    assert cli("log").out == snapshot("Nothing has been recorded yet.\n")
    cli("session", "create", "--title", "one")
    cli("session", "close", "s-000000000001")
    assert cli("undo").out == snapshot(
        "Took back op-000000000002 (session.closed of session:s-000000000001). segue undo op-000000000003 brings it back.\n"
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
    assert cli("log", "verify").out == snapshot("✓ 1 chain verified: nothing is missing or changed.\n")
    assert cli("undo").out == snapshot(
        "Took back op-000000000001 (session.created of session:s-000000000001). segue undo op-000000000004 brings it back.\n"
    )
    assert cli("undo").err == snapshot("""\
error: You have nothing to undo among the last 500 operations.
 next: segue log shows who did what
""")
    assert cli("undo", "op-000000000004").out == snapshot(
        "Took back op-000000000004 (session.undone of session:s-000000000001). segue undo op-000000000005 brings it back.\n"
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
  the share for one model, as limits.models.NAME; takes a whole percentage from 1% to 100%
""")
    assert cli("config", "set", "handoff.preserve", "complete").out == snapshot(
        "handoff.preserve = complete  (was not set; in /ada/home/settings.toml)\n"
    )
    assert re.sub(" {2,}", "  ", cli("config", "path").out) == snapshot("""\
user file  /ada/home/settings.toml
project file  /ada/project/.segue.toml  (not there)
policy  /etc/segue/policy-of-the-tests.toml  (not there)
data  /ada/home/data  (not there)  stores and backups
log  /ada/home/segue.log  (not there)  full error reports
""")


def test_backups(cli: CommandLine) -> None:
    assert cli("backup", "list").out == snapshot("No backups yet. segue backup make makes one.\n")
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

No problem found.
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
   36 entries, 7.6 kB: a bug in invoices, half mended.
2. Near its limit
   183,412 of 200,000 tokens used (92%), past the urgent threshold of 90%.
   urgency high: the agent would soon stop, and its context be lost.
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
   to a separate program that knows nothing but the brief. What it holds was read back: the brief, byte for byte.
5. Proved
   ✓ What has the user forbidden, insisted on, or corrected?  Our invoices are sometimes a cent off. Find out why and fix it. Don't touch src/ledger/legacy.py, the auditors have signed it off.; Per line is right, the tax office wants it that way. Use ROUND_HALF_EVEN though, never half up.; Good. Before you go on: only use the standard library, we can't add dependencies in this release.
   ✓ Which tests fail?  tests/test_invoice.py::test_credit_note
   ✓ Which errors are still open?  FAILED tests/test_invoice.py::test_credit_note - AssertionError: assert Decimal('-10.01') == Decimal('-10.00')
   ✓ What did the agent say that it would do next?  Next: build the lines of a credit note from Decimal in src/ledger/credit.py, then run tests/test_invoice.py again.
   ✓ Which files were created, edited, renamed or deleted last?  src/ledger/money.py; src/ledger/tax.py; src/ledger/rates.py; scratch/compare.py; src/ledger/invoice.py
   ✓ Which command failed last?  python -m pytest tests -q
6. Receipt
   20 facts passed, 4 left where they can be looked up, 8 not passed:
   · test tests/test_invoice.py::test_total: passing
   · test tests/test_invoice.py::test_empty: passing
   · content src/ledger/money.py: not at tier SELECTIVE
   · error FAILED tests/test_tax.py::test_rate_from_text - TypeError: unsupported operand type(s) for *: 'decimal.Decimal' and 'float': resolved
   · test tests/test_tax.py::test_rate_from_text: passing
   · name ledger/legacy.py: over budget
   · talk e2: not at tier SELECTIVE
   · talk e9: not at tier SELECTIVE
   · as a whole: the conversation itself (kept in the package)
   handoff h-000000000001 is validated; 10 operations in the log, its chain verifies.

All in a scratch folder, which is gone. --keep DIR keeps it to look around.
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
error: There is no command 'lgo'.
 next: segue log

$ segue nonsense
error: There is no command 'nonsense'.
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
