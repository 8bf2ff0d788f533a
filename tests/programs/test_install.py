"""The programs are pinned, installed whole or not at all, once, and found again without a network.

npm is replaced by a stand-in here, since a test may not download: what it installs are scripts that know
their version. That the real npm installs the real programs is shown by every test that runs them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.programs import install
from tests.programs.sandbox import Sandbox

SCRIPT = Path(install.__file__)
NPM = f"""#!{sys.executable}
import json, os, pathlib, sys, time
with open(os.environ["NPM_CALLS"], "a") as calls:
    calls.write(" ".join(sys.argv[1:]) + "\\n")
time.sleep(0.5)
for name, package in {install.PACKAGES!r}.items():
    pathlib.Path("node_modules", package).mkdir(parents=True)
    program = pathlib.Path("node_modules/.bin", name)
    program.parent.mkdir(exist_ok=True)
    version = json.load(open("package.json"))["dependencies"][package]
    program.write_text("#!/bin/sh\\necho " + os.environ.get("NPM_VERSION", version))
    program.chmod(0o755)
sys.exit(int(os.environ.get("NPM_EXIT", "0")))
"""


class Machine:
    """A machine with a stand-in for npm, and its own cache."""

    def __init__(self, root: Path) -> None:
        self.calls = root / "calls"
        self.cache = root / "cache"
        self.bin = root / "bin"
        self.bin.mkdir()
        for name, text in (("npm", NPM), ("node", "#!/bin/sh\n")):
            self.bin.joinpath(name).write_text(text)
            self.bin.joinpath(name).chmod(0o755)
        self.environment = {
            "PATH": f"{self.bin}:/usr/bin:/bin",
            "HOME": str(root),
            "XDG_CACHE_HOME": str(self.cache),
            "NPM_CALLS": str(self.calls),
        }

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, str(SCRIPT), *arguments],
            env=self.environment | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, **environment: str) -> tuple[int, str, str]:
        with self.start(*arguments, **environment) as process:
            stdout, stderr = process.communicate(timeout=60)
        return process.returncode, stdout.strip(), stderr

    @property
    def folders(self) -> list[str]:
        """What stands in the cache, without locks."""
        places = self.cache.glob("segue-tests/programs/*")
        return [place.name for place in places if place.suffix != ".lock"]


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    yield Machine(tmp_path)


def test_installing_again_does_nothing(machine: Machine) -> None:
    first, second = machine.run(), machine.run()

    assert first[0] == 0, first
    assert first == second
    assert machine.run("--where") == first
    [call] = machine.calls.read_text().splitlines()
    assert call.startswith("ci --ignore-scripts ")
    assert machine.folders == [Path(first[1]).name]


def test_two_at_once_install_once(machine: Machine) -> None:
    both = [machine.start() for _ in range(2)]
    said = [process.communicate(timeout=60)[0] for process in both]

    assert [process.returncode for process in both] == [0, 0]
    assert said[0] == said[1]
    assert len(machine.calls.read_text().splitlines()) == 1


@pytest.mark.parametrize(
    ("trouble", "message"),
    [
        ({"NPM_EXIT": "1"}, "ended with code 1"),
        ({"NPM_VERSION": "9.9.9"}, "is not version"),
    ],
)
def test_a_failed_installation_leaves_nothing(
    machine: Machine, trouble: dict[str, str], message: str
) -> None:
    code, stdout, stderr = machine.run(**trouble)

    assert (code, stdout) == (1, "")
    assert message in stderr
    assert machine.folders == []
    assert machine.run("--where")[0] == 1
    assert machine.run()[0] == 0


def test_what_a_killed_installation_left_is_cleared(machine: Machine) -> None:
    where = Path(machine.run("--where")[1])
    where.with_name(where.name + ".new-left").mkdir(parents=True)
    where.mkdir()

    assert machine.run()[0] == 0
    assert machine.folders == [where.name]


@pytest.mark.parametrize("missing", ["npm", "node"])
def test_a_missing_npm_is_named(machine: Machine, missing: str) -> None:
    machine.bin.joinpath(missing).unlink()
    code, _, stderr = machine.run(PATH=str(machine.bin))

    assert code == 1
    assert stderr == (
        f"install.py: {missing} is not on PATH. Install Node 20 or later with npm, and run this again\n"
    )


def test_the_real_installation_is_found_without_a_network(
    programs: dict[str, Path], tmp_path: Path, workspace: Path
) -> None:
    cache = install.folder().parents[2]
    with Sandbox(tmp_path / "sandbox") as sandbox:
        process = sandbox.start(
            [sys.executable, SCRIPT], cwd=workspace, environment={"XDG_CACHE_HOME": str(cache)}
        )
        assert process.wait() == 0, process.stderr

    assert process.stdout.strip() == str(install.folder())
    assert all(os.access(path, os.X_OK) for path in programs.values())


def test_the_lock_pins_by_hash_and_names_no_host() -> None:
    text = SCRIPT.with_name("package-lock.json").read_text()
    packages = json.loads(text)["packages"]

    assert "://" not in text
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in install.versions().values())
    for name, package in install.PACKAGES.items():
        assert packages[f"node_modules/{package}"]["version"] == install.versions()[name]
    unhashed = {
        path.removeprefix("node_modules/") for path, entry in packages.items() if "integrity" not in entry
    }
    assert unhashed - {""} <= set(packages["node_modules/opencode-ai"]["optionalDependencies"])


def test_a_package_without_a_hash_is_refused(machine: Machine, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in (*install.MANIFESTS, SCRIPT.name):
        copy.joinpath(name).write_text(SCRIPT.with_name(name).read_text())
    lock = json.loads(copy.joinpath("package-lock.json").read_text())
    del lock["packages"]["node_modules/opencode-ai"]["integrity"]
    copy.joinpath("package-lock.json").write_text(json.dumps(lock))
    done = subprocess.run(
        [sys.executable, copy / SCRIPT.name],
        env=machine.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 1
    assert "has no hash of opencode-ai" in done.stderr
    assert not machine.calls.exists()
