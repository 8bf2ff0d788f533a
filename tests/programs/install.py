#!/usr/bin/env python3
"""Installs the real agent programs that the tests run, in the versions that package-lock.json pins.

    python tests/programs/install.py           install them, or do nothing if they are there
    python tests/programs/install.py --where   say where they are; exit code 1 if they are not there

They go to a cache outside the repository: they are large, and not all of them may be copied. The folder is
named for the lock and the platform, so a new lock installs anew. It is made beside its place and renamed, so
what is there is whole; a second run at the same time waits for the first. After that no network is used.

Beside the newest versions there are a few older ones, for tests of what those left on people's disks. npm has
them under names of their own; their executables get those names too.

npm runs no install scripts here: which of them it runs depends on its version. The two programs that need
theirs get it run afterwards, by name. Standard library only.

The lock names no host: it is made with --omit-lockfile-registry-resolved, and `funding` is taken out of it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
MANIFESTS = ("package.json", "package-lock.json")
RECIPE = "1"
OLDER = ("claude-1.0", "claude-2.0", "codex-0.50")
PACKAGES = {
    "claude": "@anthropic-ai/claude-code",
    "codex": "@openai/codex",
    "gemini": "@google/gemini-cli",
    "opencode": "opencode-ai",
    **{name: name for name in OLDER},
}
INSTALL_SCRIPTS = {"claude": "install.cjs", "opencode": "postinstall.mjs"}
NPM_WITHIN_S = 900
PROGRAM_WITHIN_S = 60


class InstallError(Exception):
    """The programs could not be installed."""


def folder() -> Path:
    """Where the programs of this lock belong on this platform, whether they are there or not."""
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    digest = hashlib.sha256()
    for part in (RECIPE, sys.platform, platform.machine(), platform.libc_ver()[0]):
        digest.update(part.encode() + b"\0")
    for name in MANIFESTS:
        digest.update(HERE.joinpath(name).read_bytes())
    return Path(cache, "segue-tests", "programs", digest.hexdigest()[:16])


def executable(name: str, where: Path | None = None) -> Path:
    """The path of one program."""
    return (where or folder()) / "node_modules" / ".bin" / name


def is_installed(where: Path | None = None) -> bool:
    """True if every program is in its place. The folder appears whole, or not at all."""
    return all(os.access(executable(name, where), os.X_OK) for name in PACKAGES)


def versions() -> dict[str, str]:
    """The pinned version of each program."""
    pinned = json.loads(HERE.joinpath("package.json").read_text())["dependencies"]
    return {name: pinned[package].rpartition("@")[2] for name, package in PACKAGES.items()}


def install() -> Path:
    """Install the programs unless they are there."""
    target = folder()
    if is_installed(target):
        return target
    npm = _find("npm")
    _find("node")
    _require_hashes()
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.with_name(target.name + ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if is_installed(target):
            return target
        _clear(target)
        made = Path(tempfile.mkdtemp(prefix=target.name + ".new-", dir=target.parent))
        try:
            _build(npm, made)
            made.rename(target)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    return target


def _clear(target: Path) -> None:
    """Remove what a killed run left, and an installation that is no longer whole."""
    for leftover in target.parent.glob(target.name + ".new-*"):
        shutil.rmtree(leftover)
    if target.exists():
        shutil.rmtree(target)


def _build(npm: str, made: Path) -> None:
    for name in MANIFESTS:
        shutil.copy(HERE / name, made / name)
    quiet = ["--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]
    _run([npm, "ci", "--ignore-scripts", "--include=optional", *quiet], made, NPM_WITHIN_S)
    for name in OLDER:
        _name_executable(name, made)
    for name, script in INSTALL_SCRIPTS.items():
        _run_privately([_find("node"), script], made / "node_modules" / PACKAGES[name])
    for name, version in versions().items():
        said = _run_privately([str(executable(name, made)), "--version"], made)
        if version not in said:
            raise InstallError(f"{name} is not version {version}; it says: {said}")


def _name_executable(name: str, made: Path) -> None:
    """Give an older version a name beside the newest one's: npm gives theirs to one of them only."""
    link = executable(name, made)
    if not link.exists():
        package = made / "node_modules" / PACKAGES[name]
        [program] = json.loads(package.joinpath("package.json").read_text())["bin"].values()
        package.joinpath(program).chmod(0o755)
        link.symlink_to(Path(os.path.relpath(package / program, link.parent)))


def _run_privately(argv: list[str], cwd: Path) -> str:
    """Run something of the programs' own with a home that is nobody's: even `--version` writes there."""
    with tempfile.TemporaryDirectory(prefix="segue-tests-", ignore_cleanup_errors=True) as home:
        temporary = Path(home, "tmp")
        temporary.mkdir()
        environment = {"PATH": os.environ["PATH"], "HOME": home, "TMPDIR": str(temporary)}
        return _run(argv, cwd, PROGRAM_WITHIN_S, environment)


def _run(argv: list[str], cwd: Path, seconds: float, environment: dict[str, str] | None = None) -> str:
    try:
        done = subprocess.run(
            argv,
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        raise InstallError(f"'{' '.join(argv[:2])}' took more than {seconds} s") from None
    except OSError as error:
        raise InstallError(f"'{' '.join(argv[:2])}' can't be run: {error}") from None
    said = done.stdout.decode(errors="replace").strip()
    if done.returncode != 0:
        raise InstallError(f"'{' '.join(argv[:2])}' ended with code {done.returncode}:\n{said}")
    return said


def _require_hashes() -> None:
    """Refuse to install a package that the lock can't vouch for.

    The lock holds no hash for platforms whose packages could not be fetched when it was made.
    """
    packages = json.loads(HERE.joinpath("package-lock.json").read_text())["packages"]
    bare = [
        path for path, entry in packages.items() if path and "integrity" not in entry and _is_for_us(entry)
    ]
    if bare:
        names = ", ".join(Path(path).name for path in bare)
        raise InstallError(
            f"package-lock.json has no hash of {names}, which this platform needs. "
            "Make the lock anew here: npm install --package-lock-only --omit-lockfile-registry-resolved"
        )


def _is_for_us(entry: dict[str, Any]) -> bool:
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    libc = "glibc" if platform.libc_ver()[0] == "glibc" else "musl"
    wanted = (("os", sys.platform), ("cpu", machine), *([("libc", libc)] if sys.platform == "linux" else []))
    return all(mine in entry.get(field, [mine]) for field, mine in wanted)


def _find(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise InstallError(f"{name} is not on PATH. Install Node 20 or later with npm, and run this again")
    return found


def main(arguments: list[str]) -> int:
    """The command line."""
    if arguments == ["--where"]:
        print(folder())
        return 0 if is_installed() else 1
    if arguments:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        print(install())
    except (InstallError, OSError) as error:
        print(f"install.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
