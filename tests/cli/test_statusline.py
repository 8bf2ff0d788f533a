"""The status line: what it says, what it keeps, and that nothing whatever makes it fail."""

from __future__ import annotations

import io
import json
import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from segue.base import clock, paths
from segue.faces import fast_statusline
from segue.hooks import spool

NOON = 1_794_830_400  # 2026-11-16 12:00 UTC, a Monday

STATUS: dict[str, Any] = {
    "hook_event_name": "Status",
    "session_id": "0b7c2f9e",
    "transcript_path": "/home/ada/transcript.jsonl",
    "cwd": "/work/notes",
    "model": {"id": "large-4-5", "display_name": "Large 4.5"},
    "workspace": {
        "current_dir": "/work/notes",
        "project_dir": "/work/notes",
        "repo": "https://ada:hunter2@example.org/notes",
    },
    "version": "2.1.325",
    "cost": {"total_cost_usd": 0.25},
    "context_window": {"used_percentage": 42, "context_window_size": 200_000},
    "rate_limits": {
        "five_hour": {"used_percentage": 73.9, "resets_at": NOON + 8_400},
        "seven_day": {"used_percentage": 40, "resets_at": NOON + 3 * 86_400},
    },
    "env": {"API_KEY": "hunter2"},
}

Say = Callable[..., str]


class _Stdout:
    """Standard output as the status line uses it."""

    def __init__(self) -> None:
        self.buffer = io.BytesIO()

    def flush(self) -> None:
        pass


@pytest.fixture(autouse=True)
def at_noon(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: float(NOON))
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def say(home: Path, monkeypatch: pytest.MonkeyPatch) -> Say:
    """Run the status line with some state, and give what it printed."""

    def run(given: Any = STATUS, *argv: str, **env: str) -> str:
        stdout = _Stdout()
        monkeypatch.setattr(sys, "stdout", stdout)
        stdin = given if isinstance(given, bytes) else json.dumps(given).encode()
        environment = {"SEGUE_HOME": str(home), "PATH": os.environ["PATH"], "NO_COLOR": "1", **env}
        assert fast_statusline.main(list(argv), stdin, environment) == 0
        return stdout.buffer.getvalue().decode()

    return run


def failures(home: Path) -> list[str]:
    try:
        lines = (home / "data" / "spool" / "failures").read_text().splitlines()
    except FileNotFoundError:
        return []
    return [json.loads(line)["error"] for line in lines]


def with_limits(**shares: float) -> dict[str, Any]:
    limits = {name: {"used_percentage": used, "resets_at": NOON + 3_600} for name, used in shares.items()}
    return {**STATUS, "rate_limits": limits}


# What it says


def test_it_tells_the_model_the_context_and_every_limit(say: Say) -> None:
    assert say() == "Large 4.5 · context 42% · 5h 73% resets 14:20 · week 40%\n"


@pytest.mark.parametrize(
    ("used", "says"),
    [
        (74.9, ""),
        (75, " · hand over soon: segue"),
        (89.9, " · hand over soon: segue"),
        (90, " · hand over now: segue"),
        (104, " · hand over now: segue"),
    ],
)
def test_a_share_past_a_threshold_recommends_a_handoff(say: Say, used: float, says: str) -> None:
    assert say(with_limits(five_hour=used)) == (
        f"Large 4.5 · context 42% · 5h {int(used)}% resets 13:00{says}\n"
    )


def test_a_full_context_counts_like_any_limit(say: Say) -> None:
    full = {**STATUS, "context_window": {"used_percentage": 92}}
    assert say(full).endswith(" · hand over now: segue\n")


def test_the_thresholds_are_those_of_the_settings_variables(say: Say) -> None:
    env = {"SEGUE_LIMITS_RECOMMEND": "30%", "SEGUE_LIMITS_URGENT": "40"}
    assert "hand over soon" in say(with_limits(five_hour=35) | {"context_window": None}, **env)
    assert "hand over now" in say(with_limits(five_hour=40), **env)
    for nonsense in ("many", "0", "101", "-5", "", "٧٥", "9" * 5000):
        assert "hand over" not in say(with_limits(five_hour=60), SEGUE_LIMITS_RECOMMEND=nonsense)


def test_a_far_reset_is_told_with_its_day_once_it_matters(say: Say) -> None:
    far = {"seven_day": {"used_percentage": 80, "resets_at": NOON + 3 * 86_400}}
    assert "week 80% resets Thu 12:00" in say({**STATUS, "rate_limits": far})


def test_a_window_that_was_reset_since_is_left_out(say: Say) -> None:
    over = {"five_hour": {"used_percentage": 99, "resets_at": NOON - 1}}
    assert say({**STATUS, "rate_limits": over}) == "Large 4.5 · context 42%\n"


def test_before_the_first_answer_it_tells_what_there_is(say: Say) -> None:
    assert say({"model": {"id": "large-4-5"}}) == "large-4-5\n"
    assert say({}) == "segue: no limits reported yet\n"


def test_a_window_that_nobody_has_heard_of_is_shown_by_its_name(say: Say) -> None:
    assert "seven day large 12%" in say(with_limits(seven_day_large=12))
    assert "spend 12%" in say(with_limits(spend_limit=12))


def test_colours_mark_the_recommendation_unless_they_are_unwanted(say: Say) -> None:
    urgent = with_limits(five_hour=95)
    assert "\033[31mhand over now: segue\033[0m" in say(urgent, NO_COLOR="")
    assert "\033[33mhand over soon: segue\033[0m" in say(with_limits(five_hour=80), NO_COLOR="")
    assert "\033" not in say(urgent) + say(urgent, NO_COLOR="", TERM="dumb")


def test_a_name_cannot_write_to_the_terminal(say: Say) -> None:
    evil = {"model": {"display_name": "\033]0;owned\007Large\n" + "x" * 500}}
    said = say(evil)
    assert "\033" not in said and "\007" not in said and said.count("\n") == 1 and len(said) < 60


# The person's own status line

SHOUT = [
    sys.executable,
    "-c",
    "import sys; sys.stdout.write('\\033[1mMINE\\033[0m\\n' + str(len(sys.stdin.read())))",
]


def test_the_output_of_an_own_command_stands_above_unchanged(say: Say) -> None:
    given = json.dumps(STATUS)
    said = say(given.encode(), "--", *SHOUT)
    assert (
        said
        == f"\033[1mMINE\033[0m\n{len(given)}\nLarge 4.5 · context 42% · 5h 73% resets 14:20 · week 40%\n"
    )


def test_quiet_prints_only_the_own_command_and_still_records(say: Say, home: Path) -> None:
    assert say(STATUS, "--quiet", "--", *SHOUT) == f"\033[1mMINE\033[0m\n{len(json.dumps(STATUS))}"
    assert len(spool.read_status(home / "data")) == 1


def test_arguments_of_an_own_command_are_not_ours(say: Say) -> None:
    assert say(STATUS, "--", "printf", "%s|", "--quiet", "--", "a b").startswith("--quiet|--|a b|\n")


@pytest.mark.parametrize(
    ("command", "kept"),
    [
        (["there-is-no-such-command"], "FileNotFoundError"),
        (["/"], "PermissionError"),
        (["nul\0byte"], "ValueError"),
        ([sys.executable, "-c", "raise SystemExit(3)"], "exited with code 3"),
        ([sys.executable, "-c", "import os; os.abort()"], "exited with code -6"),
    ],
)
def test_an_own_command_that_fails_leaves_our_line(
    say: Say, home: Path, command: list[str], kept: str
) -> None:
    assert say(STATUS, "--", *command).startswith("Large 4.5 · ")
    [failure] = failures(home)
    assert kept in failure


def test_an_own_command_that_hangs_is_ended_and_what_it_started_not_waited_for(
    say: Say, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fast_statusline, "COMMAND_SECONDS", 0.5)
    child = "import subprocess, sys, time; print('half', flush=True); subprocess.Popen(['sleep', '30']); time.sleep(60)"
    begun = time.monotonic()
    said = say(STATUS, "--", sys.executable, "-c", child)
    assert time.monotonic() - begun < 20
    assert said.startswith("half\nLarge 4.5 · ")
    assert "took more than" in failures(home)[0]


def test_an_own_command_that_reads_nothing_does_no_harm(say: Say) -> None:
    padded = {**STATUS, "padding": "x" * 1_000_000}
    assert say(padded, "--", "printf", "mine") == (
        "mine\nLarge 4.5 · context 42% · 5h 73% resets 14:20 · week 40%\n"
    )


# What it keeps


def test_what_was_told_is_kept_and_read_back(say: Say, home: Path) -> None:
    say()
    [report] = spool.read_status(home / "data")
    assert clock.parse(report.at)
    assert report.status == {
        **{
            name: STATUS[name]
            for name in ("model", "session_id", "transcript_path", "cwd", "version", "cost")
        },
        "context_window": STATUS["context_window"],
        "rate_limits": STATUS["rate_limits"],
        "workspace": {"current_dir": "/work/notes", "project_dir": "/work/notes"},
    }


def test_no_secret_is_kept(say: Say, home: Path) -> None:
    say(STATUS, SOME_TOKEN="hunter2")
    assert b"hunter2" not in (home / "data" / "spool" / "statusline.jsonl").read_bytes()


def test_only_a_change_is_kept(say: Say, home: Path) -> None:
    say()
    say({**STATUS, "cost": {"total_cost_usd": 9}, "version": "9"})
    assert len(spool.read_status(home / "data")) == 1
    for changed in (
        with_limits(five_hour=74),
        with_limits(five_hour=74) | {"context_window": {"used_percentage": 43}},
        with_limits(five_hour=74) | {"context_window": {"used_percentage": 43}, "model": {"id": "small"}},
    ):
        say(changed)
        say(changed)
    assert len(spool.read_status(home / "data")) == 4


def test_two_agents_at_once_are_told_apart(say: Say, home: Path) -> None:
    other = {**with_limits(five_hour=12), "session_id": "another"}
    for status in (STATUS, other, STATUS, other):
        say(status)
    found = [report.status["session_id"] for report in spool.read_status(home / "data")]
    assert found == ["0b7c2f9e", "another"]


def test_the_spool_is_for_its_owner_alone(say: Say, home: Path) -> None:
    before = os.umask(0)
    try:
        say()
        say(b"")
    finally:
        os.umask(before)
    folder = home / "data" / "spool"
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in (home, folder.parent, folder)} == (
        dict.fromkeys(("home", "data", "spool"), 0o700)
    )
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def test_a_full_spool_is_set_aside_and_still_read(say: Say, home: Path) -> None:
    folder = home / "data" / "spool"
    folder.mkdir(parents=True)
    old = json.dumps({"at": "2026-01-01T00:00:00.000000Z", "status": {"session_id": "old", "pad": "x" * 500}})
    (folder / "statusline.jsonl").write_text((old + "\n") * 2_100)
    say()
    assert (folder / "statusline.1.jsonl").stat().st_size > 1 << 20
    assert len((folder / "statusline.jsonl").read_text().splitlines()) == 1
    reports = spool.read_status(home / "data")
    assert len(reports) == 2_101 and reports[-1].status["session_id"] == "0b7c2f9e"


def test_a_line_that_was_cut_spoils_no_other(say: Say, home: Path) -> None:
    say()
    path = home / "data" / "spool" / "statusline.jsonl"
    path.write_bytes(path.read_bytes() + b'{"at":"2026-11-16T12:00')
    say(with_limits(five_hour=80))
    shares = [
        r.status["rate_limits"]["five_hour"]["used_percentage"] for r in spool.read_status(home / "data")
    ]
    assert shares == [73.9, 80]


@pytest.mark.parametrize(
    "line",
    [
        *(b"", b"{", b"null", b"[]", b"7", b"\xff\xfe", b'{"at": 7, "status": {}}', b'{"status": {}}'),
        *(b'{"at": "yesterday", "status": {}}', b'{"at": "2026-11-16T12:00:00.000000Z", "status": []}'),
        *(b"[" * 100_000 + b'"0b7c2f9e"', b'{"at": "2026-11-16T12:00:00.000000Z"}', b"\0" * 100),
    ],
)
def test_a_line_that_is_no_report_is_passed_over(say: Say, home: Path, line: bytes) -> None:
    say()
    path = home / "data" / "spool" / "statusline.jsonl"
    path.write_bytes(line + b"\n" + path.read_bytes() + line)
    assert len(spool.read_status(home / "data")) == 1
    assert say().startswith("Large 4.5")


def test_reports_come_newest_last(home: Path) -> None:
    folder = home / "spool"
    folder.mkdir(parents=True)
    lines = [json.dumps({"at": f"2026-11-16T12:00:0{n}.000000Z", "status": {"n": n}}) for n in (3, 1, 2)]
    (folder / "statusline.jsonl").write_text("\n".join(lines))
    assert [report.status["n"] for report in spool.read_status(home)] == [1, 2, 3]


def test_a_spool_that_is_not_there_or_no_file_holds_nothing(home: Path) -> None:
    assert spool.read_status(home) == []
    (home / "spool" / "statusline.jsonl").mkdir(parents=True)
    os.mkfifo(home / "spool" / "statusline.1.jsonl")
    assert spool.read_status(home) == []


@pytest.mark.parametrize(
    "env",
    [
        {"SEGUE_HOME": "/somewhere/else"},
        {"SEGUE_HOME": "relative/folder"},
        {"SEGUE_HOME": "~/segue"},
        {"SEGUE_HOME": "~nobody-of-that-name/segue"},
        {"XDG_DATA_HOME": "/data/of/ada"},
        {"XDG_DATA_HOME": ""},
        {"XDG_DATA_HOME": "  "},
        {"SEGUE_HOME": "", "XDG_DATA_HOME": "/data/of/ada/"},
        {},
    ],
)
def test_the_spool_is_where_segue_keeps_its_data(
    env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert Path(fast_statusline.data_folder(env)) == paths.find(env).data


# Whatever goes wrong


@pytest.mark.parametrize(
    "given",
    [
        *(b"", b"{", b"null", b"[]", b"7", b'"x"', b"\xff\xfe\x00", b"[" * 200_000, b"9" * 5_000),
        *(b"\0" * 10, b'{"a":' * 50_000),
    ],
    ids=lambda given: repr(given[:12]),
)
def test_what_is_no_state_gives_a_plain_line_and_a_failure_on_record(
    say: Say, home: Path, given: bytes
) -> None:
    assert say(given) == "segue: status unavailable (run segue doctor to see why)\n"
    assert len(failures(home)) == 1
    assert spool.read_status(home / "data") == []


@pytest.mark.parametrize("value", [None, 7, -1, True, "x", [], {}, [[]], {"used_percentage": "x"}, 1e308])
@pytest.mark.parametrize(
    "field", ["model", "context_window", "rate_limits", "workspace", "session_id", "cost"]
)
def test_a_field_of_any_kind_is_borne(say: Say, home: Path, field: str, value: Any) -> None:
    assert say({**STATUS, field: value}).count("\n") == 1
    assert failures(home) == []


@pytest.mark.parametrize(
    "value", ["NaN", "Infinity", "-Infinity", "1e999", "-5", '"40"', "true", "[]", "null"]
)
def test_a_share_of_any_kind_is_borne(say: Say, home: Path, value: str) -> None:
    text = f'{{"rate_limits": {{"five_hour": {{"used_percentage": {value}, "resets_at": {value}}}}}}}'
    assert say(text.encode()) == "segue: no limits reported yet\n"
    assert failures(home) == []


def test_the_same_failure_is_on_record_once(say: Say, home: Path) -> None:
    for _ in range(5):
        say(b"")
    say(b"[]")
    say(b"")
    assert len(failures(home)) == 3


def test_the_record_of_failures_does_not_grow_for_ever(say: Say, home: Path) -> None:
    say(b"")
    path = home / "data" / "spool" / "failures"
    path.write_bytes(b"x" * 100_000 + b"\n")
    say(b"[]")
    assert len(failures(home)) == 1


def test_a_spool_that_cannot_be_written_does_not_show(say: Say, home: Path) -> None:
    home.parent.mkdir(exist_ok=True)
    home.write_text("a file where a folder should be")
    assert say().startswith("Large 4.5")
    assert say(b"").startswith("segue: status unavailable")


def test_a_pipe_in_the_place_of_the_spool_is_not_waited_for(say: Say, home: Path) -> None:
    folder = home / "data" / "spool"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "statusline.jsonl")
    assert say().startswith("Large 4.5")
    assert len(failures(home)) == 1


def test_a_state_too_long_to_keep_is_shown(say: Say, home: Path) -> None:
    assert say({**STATUS, "cost": {"x": "y" * 100_000}}).startswith("Large 4.5")
    assert "too long" in failures(home)[0]


def test_an_option_that_does_not_exist_is_on_record(say: Say, home: Path) -> None:
    assert say(STATUS, "--loud", "--", "printf", "mine").startswith("mine\nsegue: status unavailable")
    assert "unknown option '--loud'" in failures(home)[0]


def test_help_is_given(say: Say) -> None:
    assert say(b"", "--help").startswith("segue statusline [--quiet] [-- COMMAND ARGUMENTS…]\n")


RUN = "import sys, os; from segue.faces.fast_statusline import main; sys.exit(main(sys.argv[1:], sys.stdin.buffer.read(), os.environ))"


def test_an_agent_that_does_not_wait_is_no_failure(home: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    env = {"SEGUE_HOME": str(home)}
    with os.fdopen(writing, "wb") as closed:
        done = subprocess.run(
            [sys.executable, "-c", RUN],
            input=json.dumps(STATUS).encode(),
            stdout=closed,
            stderr=subprocess.PIPE,
            env=env,
        )
    assert (done.returncode, done.stderr) == (0, b"")


def test_many_at_once_write_whole_lines(home: Path) -> None:
    env = {"SEGUE_HOME": str(home)}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", RUN], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=env
        )
        for _ in range(8)
    ]
    for n, process in enumerate(running):
        process.communicate(json.dumps({**STATUS, "session_id": f"s{n}"}).encode(), timeout=60)
    assert [process.returncode for process in running] == [0] * 8
    found = sorted(report.status["session_id"] for report in spool.read_status(home / "data"))
    assert found == [f"s{n}" for n in range(8)]


def test_it_loads_next_to_nothing(home: Path) -> None:
    code = RUN.replace("sys.exit(main(", "(main(") + "; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-I", "-c", code],
        input=json.dumps(STATUS),
        capture_output=True,
        text=True,
        env={"SEGUE_HOME": str(home)},
    )
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "segue.faces.fast_statusline" in loaded, done
    assert not loaded & {
        "click",
        "msgspec",
        "pathlib",
        "typing",
        "datetime",
        "subprocess",
        "tomllib",
        "platformdirs",
    }
