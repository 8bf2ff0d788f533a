"""What each hook costs an agent, as a multiple of the same environment's bare interpreter.

    ./dev bench hooks [--runs 41]

Each hook is run as an agent runs it, through a shell with its input on standard input, interleaved with `python -c pass`
in one run; medians. Bars: 0.5 where nothing is to be told, which is almost always, and 1.5 where Python is started
at all. What the refresher does is not waited for, so only its start counts; it is let end before the next is measured.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from segue.base import clock
from segue.hooks import guard, limit_warnings, waiting_handoffs
from segue.hooks.guard import Held
from segue.hooks.waiting_handoffs import Waiting
from segue.ops import background
from segue.ops.common.desk import open_desk
from segue.ops.setup import hook_script, install

BARE = "python -c pass"
QUIET, PYTHON = 0.5, 1.5
SESSION = "0a1b2c3d-0000-4000-8000-000000000001"
AHEAD = 3600.0
LOOP = """(cd src; ls) 2>&1|head
for name in a b; do sed -n '1,20p;40,60p' "$name"; grep "x\\|y" "$name" || true; done"""


class Scene:
    """A home with an agent that is set up, and what may be waiting there."""

    def __init__(self, root: Path) -> None:
        home = {"HOME": str(root), "SEGUE_HOME": str(root / "segue")}
        self.env = {"PATH": os.environ.get("PATH", ""), **home}
        (root / ".claude").mkdir()
        self.tree = root / "tree"
        (self.tree / ".git").mkdir(parents=True)
        desk = open_desk(env=self.env, cwd=root)
        install.apply(desk, install.plan(desk, ["claude"]))
        self.data, self.reach = desk.places.data, hook_script.reach(desk)
        desk.close()
        self.tended(is_due=False)

    def tended(self, *, is_due: bool) -> None:
        stamp = self.data / background.STAMP
        stamp.write_text("\n")
        at = time.time() + (-AHEAD if is_due else AHEAD)
        os.utime(stamp, (at, at))

    def hold(self) -> None:
        now = clock.now()
        held = Held(
            root=str(self.tree), handoff="h-1", holder="X", since=now, expires=clock.later(now, AHEAD)
        )
        guard.put(self.data, held, now)

    def wait(self) -> None:
        note = Waiting(
            handoff="h-1",
            root=str(self.tree),
            source="codex",
            target="claude",
            expires=clock.later(clock.now(), AHEAD),
            text="word " * 1500,
            withheld="",
            settings=waiting_handoffs.state_of([], os.environ),
        )
        (self.data / waiting_handoffs.FOLDER / "h-1.given").unlink(missing_ok=True)
        waiting_handoffs.put(self.data, note)

    def warn(self) -> None:
        limit_warnings.put(self.data, "claude", SESSION, b'{"systemMessage": "near"}')

    def clear(self) -> None:
        for name in (guard.FOLDER, waiting_handoffs.FOLDER, limit_warnings.FOLDER):
            shutil.rmtree(self.data / name, ignore_errors=True)

    def given(self, event: str, **more: object) -> bytes:
        base = {"session_id": SESSION, "transcript_path": "/t.jsonl", "cwd": str(self.tree)}
        return json.dumps({**base, "hook_event_name": event, **more}).encode()


Setting = Callable[[Scene], None]


def cases(scene: Scene) -> dict[str, tuple[str, bytes, Setting | None, float, bool]]:
    """The event, what the agent gives, what is to be there, the bar, and whether something must be said."""
    file = {"file_path": str(scene.tree / "a.py"), "content": "x" * 20_000}
    edit = scene.given("PreToolUse", tool_name="Write", tool_input=file)

    def run(command: str) -> bytes:
        return scene.given("PreToolUse", tool_name="Bash", tool_input={"command": command})

    start, prompt = (
        scene.given("SessionStart", source="startup"),
        scene.given("UserPromptSubmit", prompt="Go"),
    )
    due: Setting = lambda scene: scene.tended(is_due=True)  # noqa: E731 - as the others
    return {
        "edit, nothing held": ("edit", edit, None, QUIET, False),
        "edit, held: refused": ("edit", edit, Scene.hold, PYTHON, True),
        "command, nothing held": ("edit", run("make test"), None, QUIET, False),
        "command, held: refused": ("edit", run("make test"), Scene.hold, PYTHON, True),
        "command, held: only looks": ("edit", run("git log -3 | head"), Scene.hold, PYTHON, False),
        "command, held: looks, in a loop": ("edit", run(LOOP), Scene.hold, PYTHON, False),
        "start, nothing waits": ("start", start, None, QUIET, False),
        "start, a handoff waits": ("start", start, Scene.wait, PYTHON, True),
        "prompt, no news": ("prompt", prompt, None, QUIET, False),
        "prompt, a warning": ("prompt", prompt, Scene.warn, QUIET, True),
        "prompt, refresher due": ("prompt", prompt, due, QUIET, False),
        "compact": ("compact", scene.given("PreCompact", trigger="auto"), None, QUIET, False),
        "end": ("end", scene.given("SessionEnd", reason="exit"), None, QUIET, False),
    }


def once(argv: list[str], given: bytes, env: dict[str, str]) -> tuple[float, bytes]:
    begun = time.perf_counter()
    done = subprocess.run(argv, input=given, env=env, check=True, stdout=subprocess.PIPE)
    return time.perf_counter() - begun, done.stdout


@contextmanager
def scenes() -> Iterator[Scene]:
    with tempfile.TemporaryDirectory(prefix="segue-bench-") as folder:
        yield Scene(Path(folder).resolve())


def measure(runs: int) -> dict[str, tuple[float, float]]:
    """The median of each in seconds, and its bar."""
    with scenes() as scene:
        known = cases(scene)
        taken: dict[str, list[float]] = {BARE: [], **{name: [] for name in known}}
        for run in range(runs + 2):
            spent = {BARE: once([sys.executable, "-c", "pass"], b"", scene.env)[0]}
            for name, (event, given, setting, _, must_say) in known.items():
                scene.clear()
                if setting:
                    setting(scene)
                spent[name], said = once(["sh", "-c", scene.reach.hook(event, "claude")], given, scene.env)
                if bool(said) is not must_say:
                    raise SystemExit(f"{name}: it said {said[:200]!r}")
                if "due" in name:
                    _let_end(scene)
            if run >= 2:
                for name, seconds in spent.items():
                    taken[name].append(seconds)
        failed = guard.failures(scene.data)
        if failed:
            raise SystemExit(f"a hook failed: {failed[-1].error}")
    bars = {name: case[3] for name, case in known.items()}
    return {name: (statistics.median(times), bars.get(name, 0.0)) for name, times in taken.items()}


def _let_end(scene: Scene) -> None:
    """Until the refresher has set the stamp ahead, and gone."""
    stamp, until = scene.data / background.STAMP, time.monotonic() + 30
    while stamp.stat().st_mtime < time.time():
        if time.monotonic() > until:
            raise SystemExit(
                f"the refresher did not come: {[one.error for one in guard.failures(scene.data)]}"
            )
        time.sleep(0.02)
    time.sleep(1.0)
    scene.tended(is_due=False)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=41)
    medians = measure(parser.parse_args().runs)
    bare = medians[BARE][0]
    is_failed = False
    for name, (median, bar) in medians.items():
        ratio = median / bare
        verdict = "" if not bar else f"{ratio:5.2f} of {bar}" + ("" if ratio <= bar else "  too slow")
        is_failed |= bool(bar) and ratio > bar
        print(f"{name:30}{1000 * median:8.1f} ms  {verdict}")
    return int(is_failed)


if __name__ == "__main__":
    sys.exit(main())
