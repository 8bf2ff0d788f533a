"""The status line of an agent: context use and limits.

    segue statusline [--quiet] [-- COMMAND ARGUMENTS…]

The agent runs this every few moments with its state as JSON on stdin, and shows the output. The state is the only
place where a working agent reports its limits, so it is recorded in the spool when it changes. COMMAND is the user's
previous status line: it gets the same input, and its output is shown above.

It must be fast, so it loads little and reads no settings file. It must not fail: errors are recorded for
`segue doctor`, and the agent gets a line anyway.
"""

# pathlib is as slow to load as everything else here
# ruff: noqa: PTH100, PTH101, PTH102, PTH105, PTH111, PTH112, PTH116, PTH118, PTH120

from __future__ import annotations

import json
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from subprocess import Popen
    from typing import Any

# Same names as in `spool.py`, which is slower to load than all of this.
FOLDER, FILE, FULL_FILE, FAILURES = "spool", "statusline.jsonl", "statusline.1.jsonl", "failures"
FULL = 1 << 20
MOST_FAILURES = 64 << 10
TAIL = 64 << 10
"""Bytes at the end that are searched for the session's last line."""
LARGEST_LINE = 16 << 10

KEPT = ("model", "session_id", "transcript_path", "cwd", "workspace", "version", "cost", "context_window")
KEPT_OF_WORKSPACE = ("current_dir", "project_dir")
COMPARED = ("rate_limits", "context_window", "model")

WINDOWS = {"five_hour": "5h", "seven_day": "week", "spend_limit": "spend"}
RECOMMEND, URGENT = 75.0, 90.0
COMMAND_SECONDS = 5
PAUSE = 0.02
MOST_PRINTED = 64 << 10
DAY = 86_400
BETWEEN = " · "
YELLOW, RED, PLAIN = "\033[33m", "\033[31m", "\033[0m"
NOTHING_TOLD = "segue: no limits reported yet"
USAGE = """\
segue statusline [--quiet] [-- COMMAND ARGUMENTS…]

Prints an agent's status line; reads the agent's state as JSON from stdin.
The output of COMMAND is shown above it, or alone with --quiet."""
FAILED = "segue: status unavailable (run segue doctor to see why)"


def main(argv: list[str], stdin: bytes, env: Mapping[str, str]) -> int:
    """Always 0: agents show nothing if a status line fails."""
    if argv[:1] in (["--help"], ["-h"]):
        _print(b"", USAGE.encode())
        return 0
    quiet, command, trouble = _arguments(argv)
    line = FAILED
    try:
        if trouble:
            raise ValueError(trouble)
        status = json.loads(stdin, parse_constant=lambda _: None)
        if not isinstance(status, dict):
            raise ValueError("the agent's state is not a JSON object")
        line = _line(status, env, time.time())
        _record(status, _spool(env))
    except Exception as error:  # noqa: BLE001 - the agent must get a line
        _note_failure(error, env)
    theirs = _theirs(command, stdin, env) if command else b""
    _print(theirs, b"" if quiet and not trouble else line.encode(errors="replace"))
    return 0


def _arguments(argv: list[str]) -> tuple[bool, list[str], str]:
    """Parse --quiet and the user's command; the third value is a problem, if any."""
    split = argv.index("--") if "--" in argv else len(argv)
    ours, command = argv[:split], argv[split + 1 :]
    unknown = [argument for argument in ours if argument != "--quiet"]
    return "--quiet" in ours, command, f"unknown option '{unknown[0]}'" if unknown else ""


def _print(theirs: bytes, ours: bytes) -> None:
    if theirs and ours and not theirs.endswith(b"\n"):
        theirs += b"\n"
    if sys.stdout is None:
        return
    try:
        sys.stdout.buffer.write(theirs + ours + (b"\n" if ours else b""))
        sys.stdout.flush()
    except OSError:
        # The agent did not wait. Otherwise flushing the buffer at exit fails again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


# The line


def _line(status: dict[str, Any], env: Mapping[str, str], now: float) -> str:
    recommend = _threshold(env.get("SEGUE_LIMITS_RECOMMEND", ""), RECOMMEND)
    urgent = _threshold(env.get("SEGUE_LIMITS_URGENT", ""), URGENT)
    model = _dict(status.get("model"))
    parts = [name] if (name := _shown(model.get("display_name")) or _shown(model.get("id"))) else []
    highest = 0.0
    for window, used, resets_at in _shares(status, now):
        highest = max(highest, used)
        when = _when(resets_at, now, is_pressing=used >= recommend)
        parts.append(f"{window} {int(used)}%{when}")
    if not parts:
        return NOTHING_TOLD
    if highest >= urgent:
        parts.append(_coloured("hand over now: segue", RED, env))
    elif highest >= recommend:
        parts.append(_coloured("hand over soon: segue", YELLOW, env))
    return BETWEEN.join(parts)


def _shares(status: dict[str, Any], now: float) -> Iterator[tuple[str, float, float | None]]:
    """Window, used share and reset time of each limit. A window whose reset has passed is omitted: its new use is
    unknown."""
    used = _number(_dict(status.get("context_window")).get("used_percentage"))
    if used is not None:
        yield "context", used, None
    for name, limit in _dict(status.get("rate_limits")).items():
        used = _number(_dict(limit).get("used_percentage"))
        resets_at = _number(_dict(limit).get("resets_at"))
        if used is not None and (resets_at is None or resets_at > now):
            yield WINDOWS.get(name) or _shown(name.replace("_", " ")), used, resets_at


def _when(resets_at: float | None, now: float, *, is_pressing: bool) -> str:
    if resets_at is None or (resets_at - now >= DAY and not is_pressing):
        return ""
    return time.strftime(
        " resets %H:%M" if resets_at - now < DAY else " resets %a %H:%M", time.localtime(resets_at)
    )


def _threshold(text: str, otherwise: float) -> float:
    """Parse 80 or 80%, as in the settings."""
    number = text.strip().removesuffix("%")
    return (
        float(number) if number.isascii() and number.isdigit() and 1 <= int(number[:4]) <= 100 else otherwise
    )


def _coloured(text: str, colour: str, env: Mapping[str, str]) -> str:
    return text if env.get("NO_COLOR") or env.get("TERM") == "dumb" else f"{colour}{text}{PLAIN}"


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < 1e11 else None  # type: ignore[arg-type, operator]


def _shown(value: object) -> str:
    """Printable text, safe for a terminal."""
    text = value if isinstance(value, str) else ""
    return "".join(char for char in text[:40] if char.isprintable()).strip()


# The user's own status line


def _theirs(command: list[str], stdin: bytes, env: Mapping[str, str]) -> bytes:
    import subprocess  # lazy: needed only with a COMMAND
    import tempfile

    try:
        with tempfile.TemporaryFile() as given:
            given.write(stdin)
            given.seek(0)
            process = subprocess.Popen(command, stdin=given, stdout=subprocess.PIPE, env=dict(env))
        printed = _printed(process)
    except (OSError, ValueError) as error:
        _note_failure(error, env)
        return b""
    if process.returncode is None:
        process.kill()
        process.wait()
        _note_failure(
            TimeoutError(f"'{command[0]}' took more than {COMMAND_SECONDS} s, or printed too much"), env
        )
    elif process.returncode:
        _note_failure(ChildProcessError(f"'{command[0]}' exited with code {process.returncode}"), env)
    return printed


def _printed(process: Popen[bytes]) -> bytes:
    """Output of a command, limited in time and length. Children it leaves may keep the pipe open, so its exit ends the
    reading."""
    import select  # lazy: as above

    assert process.stdout is not None  # noqa: S101 - a pipe was requested
    printed, until = b"", time.monotonic() + COMMAND_SECONDS
    with process.stdout as pipe:
        while len(printed) < MOST_PRINTED and time.monotonic() < until:
            if select.select([pipe], [], [], PAUSE)[0]:
                got = os.read(pipe.fileno(), MOST_PRINTED)
                if not got:
                    break
                printed += got
            elif process.poll() is not None:
                break
    while process.poll() is None and len(printed) < MOST_PRINTED and time.monotonic() < until:
        time.sleep(PAUSE)
    return printed[:MOST_PRINTED]


# The spool


def _spool(env: Mapping[str, str]) -> str:
    return os.path.join(data_folder(env), FOLDER)


def data_folder(env: Mapping[str, str]) -> str:
    """Same as `paths.find(env).data`, without loading it."""
    if home := env.get("SEGUE_HOME"):
        return os.path.join(os.path.abspath(os.path.expanduser(home)), "data")
    if sys.platform != "linux":
        from segue.base import paths  # lazy: see above

        return str(paths.find(env).data)
    shared = env.get("XDG_DATA_HOME", "")
    return os.path.join(shared if shared.strip() else os.path.expanduser("~/.local/share"), "segue")


def _record(status: dict[str, Any], folder: str) -> None:
    kept = _kept(status)
    path = os.path.join(folder, FILE)
    tail = _tail(path)
    if _is_known(kept, tail):
        return
    _make_private(folder)
    line = json.dumps({"at": _now(), "status": kept}, separators=(",", ":")).encode() + b"\n"
    if len(line) > LARGEST_LINE:
        raise ValueError(f"the agent's state is too long: {len(line)} bytes")
    if len(tail) >= TAIL:
        _set_full_file_aside(folder)
    _append(path, line if tail.endswith(b"\n") or not tail else b"\n" + line)


def _kept(status: dict[str, Any]) -> dict[str, Any]:
    """The useful fields, without possible secrets."""
    kept = {name: status[name] for name in (*KEPT, "rate_limits") if name in status}
    if "workspace" in kept:
        workspace = _dict(kept["workspace"])
        kept["workspace"] = {name: workspace[name] for name in KEPT_OF_WORKSPACE if name in workspace}
    return kept


def _is_known(kept: dict[str, Any], tail: bytes) -> bool:
    """Is the session's last recorded state the same?"""
    session = kept.get("session_id")
    needle = json.dumps(session).encode()
    for line in reversed(tail.split(b"\n")):
        if needle not in line:
            continue
        try:
            last = _dict(_dict(json.loads(line)).get("status"))
        except (ValueError, RecursionError):
            continue
        if last.get("session_id") == session:
            return all(last.get(name) == kept.get(name) for name in COMPARED)
    return False


def _set_full_file_aside(folder: str) -> None:
    """Rotate the spool file, under a lock: a second process would overwrite the full file."""
    import fcntl  # lazy: seldom needed

    path = os.path.join(folder, FILE)
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.stat(path).st_size > FULL:
            os.replace(path, os.path.join(folder, FULL_FILE))
    except (BlockingIOError, FileNotFoundError):
        pass
    finally:
        os.close(fd)


def _tail(path: str) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return b""
    try:
        size = os.fstat(fd).st_size
        return os.pread(fd, TAIL, max(0, size - TAIL))
    finally:
        os.close(fd)


def _append(path: str, line: bytes, flags: int = 0) -> None:
    """Append with one write, so that lines of several agents do not mix."""
    flags |= os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
    fd = os.open(path, flags, 0o600)
    try:
        os.fchmod(fd, 0o600)
        os.write(fd, line)
    finally:
        os.close(fd)


def _make_private(folder: str) -> None:
    if not os.path.isdir(folder):
        _make_private(os.path.dirname(folder) or "/")
        try:
            os.mkdir(folder, 0o700)
            os.chmod(folder, 0o700)
        except FileExistsError:
            if not os.path.isdir(folder):
                raise


def _note_failure(error: Exception, env: Mapping[str, str]) -> None:
    """Record an error for `segue doctor`; repetitions are recorded once."""
    what = f"{type(error).__name__}: {error}"[:500]
    line = json.dumps({"at": _now(), "face": "statusline", "error": what}).encode() + b"\n"
    try:
        folder = _spool(env)
        path = os.path.join(folder, FAILURES)
        tail = _tail(path)
        if tail.rpartition(b', "face"')[2] == line.rpartition(b', "face"')[2]:
            return
        _make_private(folder)
        _append(path, line, os.O_TRUNC if len(tail) >= MOST_FAILURES else 0)
    except (OSError, ValueError):
        return  # nowhere to report


def _now() -> str:
    """The current time in the format of `clock.py`."""
    at = time.time_ns() // 1000
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at // 1_000_000)) + f".{at % 1_000_000:06d}Z"
