"""Whatever is wrong, a person gets one paragraph and the next command, and the store is as it was."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import random
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import psycopg
import pytest
from psycopg import conninfo

from tests.conftest import CommandLine, Place, Result
from tests.store.test_shared import create

pytestmark = pytest.mark.crash_rig

PR_CAPBSET_DROP = 24
PASSWORD = "not-a-secret"
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1, 2


def content_of(folder: Path) -> dict[str, str]:
    """Every file in a folder by its hash; the log apart, which is there to be written."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "segue.log"
    }


def assert_clear(result: Result, *, code: int, says: str, next_step: str) -> None:
    """An error as every error should be."""
    assert result.code == code, result
    first, second = result.err.splitlines()
    assert first.startswith("error: ") and says in first
    assert second.startswith(" next: ") and next_step in second
    assert "Traceback" not in result.err and result.out == ""


@pytest.fixture
def full(cli: CommandLine) -> CommandLine:
    """A home with something in it."""
    cli("session", "create", "--title", "precious")
    cli("backup", "make")
    return cli


@pytest.mark.parametrize(
    "damage",
    [
        b"garbage, not a database" * 500,
        b"",
        b"SQLite format 3\x00" + b"\xff" * 5000,
    ],
    ids=["garbage", "emptied", "header only"],
)
def test_a_damaged_store(full: CommandLine, damage: bytes) -> None:
    file = full.home / "data" / "shared" / "store.db"
    file.write_bytes(damage)
    before = content_of(full.home)
    for command in (["session", "list"], ["session", "create"], ["log"], ["undo"], []):
        assert_clear(full(*command), code=4, says="is damaged", next_step="segue backup restore")
    assert content_of(full.home) == before
    assert full("doctor").code == 1
    assert full("backup", "restore", "latest", "--yes").code == 0
    assert "precious" in full("session", "list").out


def test_a_store_with_a_flipped_page_is_never_silently_wrong(full: CommandLine) -> None:
    file = full.home / "data" / "shared" / "store.db"
    whole = file.read_bytes()
    for position in range(0, len(whole), 997):
        file.write_bytes(whole[:position] + bytes([whole[position] ^ 0xFF]) + whole[position + 1 :])
        listed, verified = full("session", "list"), full("log", "verify")
        assert 70 not in (listed.code, verified.code), (position, listed, verified)
        harmless = "precious" in listed.out and verified.code == 0
        noticed = listed.code == 4 or verified.code in (1, 4)
        assert harmless or noticed, (position, listed, verified)
        assert "Traceback" not in listed.err + verified.err


def test_a_store_that_was_removed_does_not_pass_for_an_empty_one(full: CommandLine) -> None:
    (full.home / "data" / "shared" / "store.db").unlink()
    before = content_of(full.home)
    for command in (["session", "list"], ["log", "verify"], ["session", "create"], []):
        assert_clear(full(*command), code=4, says="is gone", next_step="segue backup restore")
    assert content_of(full.home) == before
    assert full("backup", "restore", "latest", "--yes").code == 0
    assert "precious" in full("session", "list").out


@pytest.mark.parametrize("kind", ["folder", "pipe", "journal"])
def test_something_else_in_the_stores_place(full: CommandLine, kind: str) -> None:
    file = full.home / "data" / "shared" / "store.db"
    if kind == "journal":
        file.with_name("store.db-journal").mkdir(mode=0o700)
    else:
        file.unlink()
        file.mkdir(mode=0o700) if kind == "folder" else os.mkfifo(file, 0o600)
    assert full("session", "create").code == 4
    assert full("backup", "restore", "latest", "--yes").code == 0
    assert "precious" in full("session", "list").out


def test_whatever_is_damaged_a_backup_brings_it_back(full: CommandLine) -> None:
    file = full.home / "data" / "shared" / "store.db"
    whole = file.read_bytes()
    chance = random.Random(5)
    for round in range(60):
        damaged = bytearray(whole)
        start = chance.choice([0, chance.randrange(len(whole))])
        length = chance.choice([1, 8, 100, 5000])
        damaged[start : start + length] = chance.randbytes(len(damaged[start : start + length]))
        for path in file.parent.glob("store.db-*"):
            path.unlink()
        file.write_bytes(damaged)
        restored = full("backup", "restore", "latest", "--yes")
        assert restored.code == 0, (round, start, length, restored)
        assert "precious" in full("session", "list").out and full("log", "verify").code == 0


@pytest.mark.parametrize("fault", ["backups is a file", "backups leads nowhere", "blobs is a file"])
def test_a_restore_that_fails_for_another_reason_leaves_a_sound_store_alone(
    full: CommandLine, fault: str
) -> None:
    made = next((full.home / "data" / "backups").iterdir())
    copy = made.rename(full.folder / made.name)
    (full.home / "data" / "backups").rmdir()
    if fault == "backups is a file":
        (full.home / "data" / "backups").write_text("in the way")
    elif fault == "backups leads nowhere":
        (full.home / "data" / "backups").symlink_to("/nowhere/at/all")
    else:
        cli_demo = Place(full.home / "data", "").open()
        cli_demo.keep(b"content")
        full("backup", "make")
        copy = next((full.home / "data" / "backups").iterdir()).rename(
            full.folder / "with-content.segue-backup"
        )
        cli_demo.close()
        shutil.rmtree(full.home / "data" / "shared" / "blobs")
        (full.home / "data" / "shared" / "blobs").write_text("in the way")
    refused = full("backup", "restore", str(copy), "--yes")
    assert refused.code == 4 and "Traceback" not in refused.err
    assert "precious" in full("session", "list").out
    assert not list((full.home / "data" / "shared").glob("damaged-*"))


@pytest.mark.parametrize(
    "damage",
    [
        "update operation set chain = x'00ff'",
        "update blob set hash = x'00ff'",
        "update blob set hash = 'ab/../../etc/passwd'",
        "update session set epoch = 99999999999999999999999",
        "update head set n = 'many'",
        "alter table session rename column epoch to epoch2",
    ],
)
def test_rows_that_make_no_sense_are_damage_and_can_be_restored(full: CommandLine, damage: str) -> None:
    shared = Place(full.home / "data", "").open()
    shared.keep(b"content")
    shared.close()
    full("backup", "make")
    with contextlib.closing(sqlite3.connect(full.home / "data" / "shared" / "store.db")) as connection:
        connection.execute(damage)
        connection.commit()
    for command in (["log", "verify"], ["doctor"], ["backup", "make"], ["session", "list"]):
        assert full(*command).code in (0, 1, 4), command
    kept = [line for line in full("backup", "list").out.splitlines() if "asked for" in line]
    restored = full("backup", "restore", kept[-1].split()[0], "--yes")
    assert restored.code == 0, restored
    assert full("log", "verify").code == 0 and "precious" in full("session", "list").out


def test_killed_while_a_damaged_store_is_rebuilt_nothing_passes_for_empty(full: CommandLine) -> None:
    env = {"SEGUE_HOME": str(full.home), "HOME": str(full.folder), "PATH": ""}
    program = [sys.executable, "-m", "segue", "backup", "restore", "latest", "--yes"]
    chance = random.Random(2)
    for _ in range(25):
        (full.home / "data" / "shared" / "store.db").write_bytes(b"garbage" * 500)
        process = subprocess.Popen(program, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0.08, 0.3))
        process.kill()
        process.wait()
        listed = full("session", "list")
        assert listed.code == 4 or "precious" in listed.out, listed
    assert full("backup", "restore", "latest", "--yes").code == 0


def test_odd_files_among_the_backups_are_told_and_passed_over(full: CommandLine) -> None:
    folder = full.home / "data" / "backups"
    (folder / "dangling.segue-backup").symlink_to("/nowhere")
    os.mkfifo(folder / "pipe.segue-backup")
    (folder / "folder.segue-backup").mkdir()
    assert full("backup", "list").out.count("it is not a file") == 3
    assert full("backup", "restore", "latest", "--yes").code == 0


def test_a_tampered_store_can_be_saved_and_brought_back_as_it_was(full: CommandLine) -> None:
    with contextlib.closing(sqlite3.connect(full.home / "data" / "shared" / "store.db")) as connection:
        connection.execute("update session set title = 'tampered'")
        connection.commit()
    assert full("log", "verify").code == 1
    assert full("backup", "make").code == 0
    assert full("backup", "restore", "latest", "--yes").code == 0
    assert "tampered" in full("session", "list").out and full("log", "verify").code == 1


def test_lost_content_that_a_handoff_names_is_found(cli: CommandLine, tmp_path: Path) -> None:
    home = {"SEGUE_HOME": str(tmp_path / "kept")}
    cli("demo", "--keep", home["SEGUE_HOME"])
    assert cli("doctor", **home).code == 0
    with contextlib.closing(
        sqlite3.connect(tmp_path / "kept" / "data" / "shared" / "store.db")
    ) as connection:
        connection.execute("delete from blob")
        connection.commit()
    shutil.rmtree(tmp_path / "kept" / "data" / "shared" / "blobs")
    found = cli("doctor", **home)
    assert found.code == 1 and "is missing from the store" in found.out


def test_mending_never_follows_a_link(full: CommandLine, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("keep me")
    link = full.home / "data" / ".tmp-link"
    link.symlink_to(precious)
    os.utime(link, (0, 0), follow_symlinks=False)
    nested = full.home / "data" / ".tmp-nested" / "inner"
    nested.mkdir(parents=True)
    os.utime(nested.parent, (0, 0))
    assert full("doctor", "--mend").code == 0
    assert (precious / "file").read_text() == "keep me"
    assert not link.exists() and not nested.exists()


def test_a_data_folder_that_others_may_write_to_is_refused(full: CommandLine) -> None:
    (full.home / "data").chmod(0o777)
    assert_clear(
        full("session", "list"), code=4, says="other users can write", next_step="segue doctor --mend"
    )
    assert full("doctor", "--mend").code == 0
    assert full("session", "list").code == 0


def test_a_newer_store(full: CommandLine) -> None:
    with contextlib.closing(sqlite3.connect(full.home / "data" / "shared" / "store.db")) as connection:
        connection.execute("update meta set value = '99' where key = 'version'")
        connection.commit()
    before = content_of(full.home)
    assert_clear(full("session", "create"), code=4, says="newer Segue", next_step="update Segue")
    assert content_of(full.home) == before


@pytest.mark.parametrize(
    ("url", "says", "code", "next_step"),
    [
        ("postgresql://ada:s3cret@127.0.0.1:1/segue", "cannot be reached", 4, "segue config get store.url"),
        ("postgresql://ada:s3cret@[nonsense", "cannot be reached", 4, "segue config get store.url"),
        ("postgresql://ada:s3cret%zz@127.0.0.1/x", "cannot be reached", 4, "segue config get store.url"),
        ("mysql://ada:s3cret@127.0.0.1/x", "for store.url: expected", 3, "give SEGUE_STORE another value"),
        ("postgresql://ada:s3cret/db", "cannot be reached", 4, "segue config get store.url"),
        ("postgresql://ada:s3cret", "cannot be reached", 4, "segue config get store.url"),
        ("/some/file", "for store.url: expected", 3, "give SEGUE_STORE another value"),
    ],
)
def test_a_wrong_address(cli: CommandLine, url: str, says: str, code: int, next_step: str) -> None:
    result = cli("session", "list", SEGUE_STORE=url)
    assert_clear(result, code=code, says=says, next_step=next_step)
    assert "s3cret" not in result.err
    log = cli.home / "segue.log"
    assert not log.exists() or "s3cret" not in log.read_text()


def test_a_database_that_is_not_ours_to_write(cli: CommandLine, postgres_url: str) -> None:
    role = "reader_" + hashlib.sha256(postgres_url.encode()).hexdigest()[:8]
    parts = conninfo.conninfo_to_dict(postgres_url) | {"user": role, "password": PASSWORD}
    url = "postgresql://?" + urlencode({key: str(value) for key, value in parts.items()})
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"create role {role} login password '{PASSWORD}'".encode())
        try:
            result = cli("session", "create", SEGUE_STORE=url)
            assert_clear(result, code=4, says="permission denied", next_step="ask the administrator")
            assert PASSWORD not in result.err
        finally:
            connection.execute(f"drop role {role}".encode())


GARBAGE = {
    "not toml": (b"limits = = 3\n", "line 1"),
    "not text": (b"\xff\xfe\x00garbage", "cannot be read"),
    "unknown key": (b"[limits]\n\nrecomend = 5\n", "settings.toml:3: there is no setting 'limits.recomend'"),
    "bad value": (b"[limits]\nurgent = 900\n", "settings.toml:2: invalid value '900' for limits.urgent"),
    "wrong type": (b"[handoff]\npreserve = ['x']\n", "settings.toml:2:"),
    "table for a value": (b"[handoff.preserve]\nx = 1\n", "handoff.preserve"),
    "deep": (b"x = " + b"[" * 5000, "cannot be read"),
}


@pytest.mark.parametrize("kind", GARBAGE)
def test_garbage_settings(full: CommandLine, kind: str) -> None:
    content, says = GARBAGE[kind]
    (full.home / "settings.toml").write_bytes(content)
    before = content_of(full.home)
    assert_clear(full("session", "list"), code=3, says=says, next_step="segue config")
    assert_clear(full("config", "set", "limits.urgent", "80"), code=3, says=says, next_step="segue config")
    assert content_of(full.home) == before
    assert full("config", "path").code == 0
    assert full("help").code == 0
    assert full("doctor").code == 1 and says in full("doctor").out


def test_an_open_folder_is_refused_until_it_is_closed(full: CommandLine) -> None:
    folder = full.home / "data" / "shared"
    folder.chmod(0o755)
    assert_clear(full("session", "list"), code=4, says="mode 0755", next_step="segue doctor --mend")
    assert full("doctor", "--mend").code == 0
    assert folder.stat().st_mode & 0o777 == 0o700
    assert full("session", "list").code == 0


def test_an_open_database_file_is_refused_too(full: CommandLine) -> None:
    (full.home / "data" / "shared" / "store.db").chmod(0o644)
    assert_clear(full("log"), code=4, says="mode 0644", next_step="segue doctor --mend")


def test_everything_is_private_whatever_the_umask(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        cli = CommandLine(tmp_path / "ada")
        cli("session", "create")
        cli("backup", "make")
        cli("config", "set", "limits.urgent", "80")
        cli("config", "set", "--project", "limits.urgent", "80")
    finally:
        os.umask(old)
    modes = {path: path.stat().st_mode & 0o777 for path in cli.home.rglob("*")}
    assert len(modes) > 8
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o600}


def test_leftovers_of_killed_processes_are_found_and_cleared(full: CommandLine) -> None:
    leftover = full.home / "data" / "shared" / "blobs" / "ab" / ".tmp-0123456789abcdef"
    leftover.parent.mkdir(parents=True)
    leftover.write_bytes(b"half")
    assert "left by a killed process" not in full("doctor").out  # it may still be in the making
    os.utime(leftover, (0, 0))
    assert "left by a killed process" in full("doctor").out
    full("doctor", "--mend")
    assert not leftover.exists()


def test_a_damaged_local_store_is_put_aside(full: CommandLine) -> None:
    full("config", "set", "--project", "limits.urgent", "80")
    local = full.home / "data" / "local.db"
    local.write_bytes(b"garbage" * 1000)
    assert_clear(full("session", "list"), code=4, says="local store", next_step="segue doctor --mend")
    full("doctor", "--mend")
    assert full("session", "list").code == 0
    assert next(local.parent.glob("local.db.damaged-*")).read_bytes() == b"garbage" * 1000


def segue(*arguments: str, env: dict[str, str], powerless: bool = False) -> Result:
    """Segue as a program of its own; `powerless` takes from root the right to ignore permissions."""

    def drop() -> None:
        libc = ctypes.CDLL(None)
        for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
            libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)

    done = subprocess.run(
        [sys.executable, "-m", "segue", *arguments],
        env={"PATH": os.environ["PATH"], **env},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        preexec_fn=drop if powerless and os.getuid() == 0 else None,
        timeout=60,
    )
    return Result(done.returncode, done.stdout, done.stderr)


def test_a_read_only_folder(full: CommandLine) -> None:
    env = {"SEGUE_HOME": str(full.home), "HOME": str(full.folder)}
    folders = [full.home, *(path for path in full.home.rglob("*") if path.is_dir())]
    before = content_of(full.home)
    for folder in folders:
        folder.chmod(0o500)
    try:
        result = segue("session", "create", env=env, powerless=True)
        assert_clear(result, code=4, says="cannot be written", next_step="segue doctor")
        listed = segue("session", "list", env=env, powerless=True)
        assert listed.code == 0 and "precious" in listed.out
        config = segue("config", "set", "limits.urgent", "80", env=env, powerless=True)
        assert_clear(config, code=3, says="cannot be written", next_step="segue config path")
    finally:
        for folder in folders:
            folder.chmod(0o700)
    assert content_of(full.home) == before


def test_a_data_folder_that_cannot_be_read(full: CommandLine) -> None:
    env = {"SEGUE_HOME": str(full.home), "HOME": str(full.folder)}
    (full.home / "data").chmod(0)
    try:
        for command in ([], ["session", "list"], ["session", "create"], ["backup", "list"], ["log"]):
            result = segue(*command, env=env, powerless=True)
            assert_clear(result, code=4, says="Permission denied", next_step="segue doctor")
        for command in (["doctor"], ["doctor", "--mend"]):
            result = segue(*command, env=env, powerless=True)
            assert result.code == 1 and "Traceback" not in result.err and "That is a bug" not in result.err
    finally:
        (full.home / "data").chmod(0o700)


def test_the_doctor_sees_a_folder_that_cannot_be_written(full: CommandLine) -> None:
    env = {"SEGUE_HOME": str(full.home / "inner"), "HOME": str(full.folder)}
    full.home.chmod(0o500)
    try:
        result = segue("doctor", env=env, powerless=True)
        assert result.code == 1 and "is not writable" in result.out
    finally:
        full.home.chmod(0o700)


def test_a_server_that_never_answers_is_given_up_on(cli: CommandLine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        begun = time.monotonic()
        result = cli("session", "list", SEGUE_STORE=f"postgresql://127.0.0.1:{silent.getsockname()[1]}/x")
    assert_clear(result, code=4, says="cannot be reached", next_step="segue config get store.url")
    assert time.monotonic() - begun < 20


def test_a_home_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    env = {"SEGUE_HOME": str(tmp_path / "file" / "home"), "HOME": str(tmp_path)}
    result = segue("session", "create", env=env)
    assert_clear(result, code=4, says="cannot be used", next_step="segue doctor")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MB."""
    folder = tmp_path / "small"
    folder.mkdir(mode=0o700)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=0700", "tmpfs", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.needs_root
def test_a_full_disk(small_disk: Path) -> None:
    env = {"SEGUE_HOME": str(small_disk / "home"), "HOME": str(small_disk)}
    assert segue("session", "create", "--title", "precious", env=env).code == 0
    filler = small_disk / "filler"
    with filler.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space"):
        while True:
            file.write(os.urandom(4096))
    before = content_of(small_disk / "home")
    result = segue("session", "create", "--title", "one too many", env=env)
    assert_clear(result, code=4, says="No space is left", next_step="free some space")
    assert_clear(
        segue("backup", "make", env=env), code=4, says="No space is left", next_step="free some space"
    )
    assert content_of(small_disk / "home") == before
    assert "precious" in segue("session", "list", env=env).out
    filler.unlink()
    assert segue("session", "create", "--title", "now it fits", env=env).code == 0
    assert segue("log", "verify", env=env).code == 0


@pytest.mark.needs_root
def test_a_disk_that_fills_at_any_point_of_a_write(small_disk: Path) -> None:
    """From no free page up to enough: each time all of it happens or nothing."""
    place = Place(small_disk / "home" / "data", "")
    shared = place.open()
    create(shared, "s-0")
    shared.close()
    filler = small_disk / "filler"
    outcomes = set()
    for pages in range(0, 24, 2):
        with filler.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(os.urandom(4096))
            except OSError:
                pass
            file.truncate(max(0, file.tell() - pages * 4096))
        env = {"SEGUE_HOME": str(small_disk / "home"), "HOME": str(small_disk)}
        before = segue("log", "--limit", "1000", "--json", env=env).out.count('"chain"')
        made = segue("session", "create", "--title", f"with {pages} pages", env=env)
        filler.unlink()
        after = segue("log", "--limit", "1000", "--json", env=env).out.count('"chain"')
        outcomes.add(made.code)
        assert after == before + (made.code == 0), (pages, made)
        assert segue("log", "verify", env=env).code == 0
    assert outcomes == {0, 4}


@pytest.mark.needs_root
def test_another_users_store_is_refused(full: CommandLine) -> None:
    folder = full.home / "data" / "shared"
    os.chown(folder, 65534, 65534)
    assert_clear(
        full("session", "list"), code=4, says="belongs to another user", next_step="run as that user"
    )


def test_two_config_changes_at_once_both_take(cli: CommandLine) -> None:
    env = {"SEGUE_HOME": str(cli.home), "HOME": str(cli.folder), "PATH": os.environ["PATH"]}
    keys = {f"limits.models.m{number}": f"{number + 10}%" for number in range(8)}
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "segue", "config", "set", key, value], env=env, stdout=subprocess.DEVNULL
        )
        for key, value in keys.items()
    ]
    assert [process.wait(30) for process in running] == [0] * len(keys)
    listed = cli("config", "list").out
    assert all(f"{key}" in listed for key in keys)
