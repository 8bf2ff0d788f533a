"""The last look before something leaves, the key, and `segue redact` as a command."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from segue.errors import SecretsLeft, StoreDamaged, StoreExposed
from segue.ops.common import redaction
from segue.ops.common.desk import Desk, open_desk
from segue.redact import view
from tests import secrets_planted as planting
from tests.conftest import CommandLine
from tests.pure.redact.test_redact import PASSWORD, TOKEN, clean

# The last look, and the key


def test_what_still_holds_a_secret_does_not_leave() -> None:
    with pytest.raises(SecretsLeft) as refused:
        redaction.assure_clean(f"password={PASSWORD}1 {TOKEN}")
    assert "github-token, password" in str(refused.value) and TOKEN not in str(refused.value)
    redaction.assure_clean(clean(f"password={PASSWORD}1 {TOKEN}"))
    redaction.assure_clean(TOKEN, ("ghp_*",))


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = open_desk(env={"SEGUE_HOME": str(tmp_path / "home")}, cwd=tmp_path)
    yield desk
    desk.close()


def test_the_key_is_made_once_and_for_the_person_only(desk: Desk) -> None:
    before = os.umask(0)
    try:
        key = redaction.key(desk)
    finally:
        os.umask(before)
    path = desk.places.data / redaction.KEY_FILE
    assert key == redaction.key(desk) == path.read_bytes() and len(key) == 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and list(path.parent.iterdir()) == [path]


def test_of_two_that_make_the_key_at_once_the_first_wins(desk: Desk) -> None:
    key = redaction.key(desk)
    redaction._make_key(desk.places.data / redaction.KEY_FILE)
    assert redaction.key(desk) == key


def test_a_key_that_others_could_read_is_not_used(desk: Desk) -> None:
    redaction.key(desk)
    path = desk.places.data / redaction.KEY_FILE
    path.chmod(0o644)
    with pytest.raises(StoreExposed):
        redaction.key(desk)
    path.chmod(0o600)
    path.write_bytes(b"short")
    with pytest.raises(StoreDamaged):
        redaction.key(desk)


# The command


@pytest.fixture
def env_file(cli: CommandLine) -> Path:
    path = cli.cwd / ".env"
    path.write_text(f"DEBUG=1\nGITHUB_TOKEN={TOKEN}\nDB_PASSWORD={PASSWORD}7\n")
    return path


def test_the_text_goes_to_stdout_and_the_talk_to_stderr(cli: CommandLine, env_file: Path) -> None:
    result = cli("redact", ".env")
    assert result.code == 0
    assert view.PLACEHOLDER.sub("*", result.out) == "DEBUG=1\nGITHUB_TOKEN=*\nDB_PASSWORD=*\n"
    assert result.err.startswith("2 secrets replaced: 1 github-token, 1 password (own rules")
    assert cli("redact", ".env").out == result.out


def test_a_check_prints_no_text_and_its_exit_code_tells(cli: CommandLine, env_file: Path) -> None:
    result = cli("redact", "--check", ".env")
    assert (result.code, result.out) == (1, "")
    assert result.err.splitlines()[:2] == [".env:2:14 github-token", ".env:3:13 password"]
    assert not (cli.home / "data" / redaction.KEY_FILE).exists()
    env_file.write_text("DEBUG=1\n")
    assert cli("redact", "--check", ".env").code == 0


def test_json_tells_where_and_never_what(cli: CommandLine, env_file: Path) -> None:
    result = cli("redact", ".env", "--json")
    found = msgspec.json.decode(result.out)
    assert [(each["line"], each["column"], each["kind"]) for each in found["findings"]] == [
        (2, 14, "github-token"),
        (3, 13, "password"),
    ]
    assert found["kinds"] == {"github-token": 1, "password": 1} and result.code == 0
    assert TOKEN not in result.out and PASSWORD not in result.out and result.err == ""


def test_an_allowed_text_stays_by_option_and_by_setting(cli: CommandLine, env_file: Path) -> None:
    assert TOKEN in cli("redact", ".env", "--allow", "ghp_*").out
    assert TOKEN in cli("--set", "redact.allow=ghp_*", "redact", ".env").out
    assert "is not a regular expression" in cli("redact", ".env", "--allow", "/(/").err


def test_a_file_that_is_not_there_or_no_file_is_an_error(cli: CommandLine) -> None:
    missing, folder = cli("redact", "nowhere"), cli("redact", ".")
    assert (missing.code, folder.code) == (2, 2)
    assert "There is no file 'nowhere'" in missing.err and "cannot be read: not a regular file" in folder.err


def piped(arguments: list[str], content: bytes, home: Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "segue", "redact", *arguments],
        input=content,
        capture_output=True,
        env={"SEGUE_HOME": str(home), "PATH": os.environ["PATH"]},
    )


def test_bytes_that_are_no_text_pass_as_they_are(tmp_path: Path) -> None:
    content = b"\xff\xfa\x00caf\xe9 " + TOKEN.encode() + b"\r\n\x80end"
    done = piped(["-"], content, tmp_path)
    assert done.returncode == 0 and view.PLACEHOLDER.sub("*", done.stdout.decode("latin-1")) == (
        b"\xff\xfa\x00caf\xe9 *\r\n\x80end".decode("latin-1")
    )


def test_utf_16_is_read_and_stays_utf_16(tmp_path: Path) -> None:
    done = piped(["-"], f"token={TOKEN}\r\n".encode("utf-16"), tmp_path)
    assert done.stdout.decode("utf-16").startswith("token=[secret:github-token:")


def test_a_large_file_is_read_in_pieces_that_break_no_key(
    cli: CommandLine, env_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = planting.pem(planting.Random(1))
    env_file.write_text(f"x\n{'y' * 700}\n{key}\nz\nGITHUB_TOKEN={TOKEN}\n" * 5)
    whole = cli("redact", ".env", "--json").out
    monkeypatch.setattr(redaction, "PIECE", 1_000)
    assert cli("redact", ".env", "--json").out == whole
    assert "PRIVATE" not in cli("redact", ".env").out


def test_a_line_too_long_to_hold_is_refused_with_a_way_out(
    cli: CommandLine, env_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redaction, "PIECE", 1_000)
    monkeypatch.setattr(redaction, "LONGEST_LINE", 2_000_000)
    env_file.write_text("y" * 2_100_000)
    result = cli("redact", ".env")
    assert result.code == 2 and "a line of more than 2 MB" in result.err and "fold -b" in result.err
