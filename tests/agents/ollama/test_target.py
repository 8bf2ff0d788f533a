"""Work for a model of Ollama's goes to an agent program that is pointed at it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue import agents
from segue.agents.ollama import CARRIERS
from segue.agents.ollama import target as ollama
from segue.agents.shared.launch import Launch, Start
from segue.errors import AgentError, BadInput
from segue.model.delivery import Mode

PROMPT = "# Handoff h-1\n\nGo on."
DEFAULT = "http://127.0.0.1:11434"


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """A machine without any agent program."""
    (tmp_path / "bin").mkdir()
    return {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)}


def install(env: dict[str, str], *names: str) -> None:
    for name in names:
        path = Path(env["PATH"], name)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)


def launched(env: dict[str, str], **more: Any) -> Launch:
    asked: dict[str, Any] = {"project": Path("/nowhere"), "mode": Mode.HEADLESS, "model": "qwen3-coder:30b"}
    program = ollama.program(env) or ""
    return ollama.command(Start(**{"program": program, "prompt": PROMPT, **asked, **more}), env)


# Who carries the work


def test_the_first_program_that_is_installed_carries_the_work(env: dict[str, str]) -> None:
    found = []
    for name in reversed(CARRIERS):
        install(env, name)
        found.append((ollama.keeps_transcripts_as(env), Path(ollama.program(env) or "").name))
    assert found == [(name, name) for name in reversed(CARRIERS)]


def test_each_of_them_is_an_agent_that_can_be_read_afterwards(env: dict[str, str]) -> None:
    assert all(agents.can_be_read(name) for name in CARRIERS)
    assert not agents.can_be_read("ollama") and agents.can_be_handed_work("ollama")


def test_without_any_nothing_is_started(env: dict[str, str]) -> None:
    install(env, "ollama")
    assert (ollama.program(env), ollama.keeps_transcripts_as(env)) == (None, "")
    with pytest.raises(AgentError, match="codex, opencode, claude"):
        launched(env)


@pytest.mark.parametrize("model", ["", "-m", "--oss", "a b", "a\nb", 'a"', "x" * 300])
def test_what_is_no_model_is_refused(env: dict[str, str], model: str) -> None:
    install(env, "codex")
    with pytest.raises(BadInput) as refused:
        launched(env, model=model)
    assert "ollama:MODEL" in refused.value.next_step


# Pointing each of them at a model


def test_codex_is_pointed_by_its_own_provider_and_fetches_nothing(env: dict[str, str]) -> None:
    install(env, "codex")
    launch = launched(env, arguments=("--ephemeral",))
    line = " ".join(launch.argv)
    assert '-m qwen3-coder:30b -c model_provider="ollama" --ephemeral' in line
    assert "--oss" not in line
    assert launch.env == {"CODEX_OSS_BASE_URL": f"{DEFAULT}/v1"}
    assert launch.stdin == PROMPT


def test_on_a_terminal_codex_is_kept_from_a_server_that_knows_another_ollama(env: dict[str, str]) -> None:
    install(env, "codex")
    assert "--no-daemon" not in launched(env, mode=Mode.OPEN).argv
    elsewhere = {**env, "OLLAMA_HOST": "127.0.0.1:9999"}
    assert "--no-daemon" in launched(elsewhere, mode=Mode.OPEN).argv
    assert "--no-daemon" not in launched(elsewhere).argv


def test_opencode_is_given_a_provider_beside_those_that_it_has(env: dict[str, str]) -> None:
    install(env, "opencode")
    own = {"theme": "x", "provider": {"mine": {"npm": "y"}}}
    env["OPENCODE_CONFIG_CONTENT"] = json.dumps(own)
    launch = launched(env)
    config = json.loads(launch.env["OPENCODE_CONFIG_CONTENT"])
    assert config["theme"] == "x" and config["provider"]["mine"] == {"npm": "y"}
    provider = config["provider"]["ollama"]
    assert provider["options"] == {"baseURL": f"{DEFAULT}/v1"} and "qwen3-coder:30b" in provider["models"]
    assert any("ollama/qwen3-coder:30b" in word for word in launch.argv)


def test_a_question_is_only_answered_by_whoever_carries_it(env: dict[str, str]) -> None:
    install(env, "opencode")
    config = json.loads(launched(env, is_question=True).env["OPENCODE_CONFIG_CONTENT"])
    assert "ollama" in config["provider"] and config["agent"], (
        "both what points it and what keeps it from tools"
    )
    install(env, "codex")
    assert "read-only" in launched(env, is_question=True).argv


@pytest.mark.parametrize("content", ["", "nonsense", "[]", '{"provider": 3}', "\udcff"])
def test_a_configuration_that_is_none_does_not_keep_opencode_from_it(
    env: dict[str, str], content: str
) -> None:
    install(env, "opencode")
    env["OPENCODE_CONFIG_CONTENT"] = content
    assert list(json.loads(launched(env).env["OPENCODE_CONFIG_CONTENT"])["provider"]) == ["ollama"]


def test_claude_is_pointed_at_ollama_with_no_key_of_the_persons(env: dict[str, str]) -> None:
    install(env, "claude")
    env |= {"ANTHROPIC_API_KEY": "the-persons-own", "OLLAMA_HOST": "https://models.example"}
    launch = launched(env)
    assert launch.env["ANTHROPIC_BASE_URL"] == "https://models.example:443"
    assert launch.env["ANTHROPIC_API_KEY"] == "" and "the-persons-own" not in str(launch)
    assert any("qwen3-coder:30b" in word for word in launch.argv)


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("mode", Mode)
def test_the_prompt_reaches_whoever_carries_it(env: dict[str, str], carrier: str, mode: Mode) -> None:
    install(env, carrier)
    launch = launched(env, mode=mode)
    assert PROMPT in (launch.stdin or "") or any(PROMPT in word for word in launch.argv)
    assert launch.argv[0] == str(Path(env["PATH"], carrier))


# Where it is


@pytest.mark.parametrize(
    ("host", "address"),
    [
        (None, DEFAULT),
        ("", DEFAULT),
        ("  ", DEFAULT),
        ("0.0.0.0", DEFAULT),
        ("[::]:11434", DEFAULT),
        (":8080", "http://127.0.0.1:8080"),
        ("localhost:8080", "http://localhost:8080"),
        ("'box.lan'", "http://box.lan:11434"),
        ("box.lan:99999", "http://box.lan:11434"),
        ("box.lan:x", "http://box.lan:11434"),
        ("http://box.lan", "http://box.lan:80"),
        ("https://box.lan", "https://box.lan:443"),
        ("HTTPS://box.lan:8443/ollama/", "https://box.lan:8443/ollama"),
        ("::1", "http://[::1]:11434"),
        ("[::1]:8080", "http://[::1]:8080"),
    ],
)
def test_ollama_is_where_its_own_variable_says(host: str | None, address: str) -> None:
    assert ollama.address({} if host is None else {"OLLAMA_HOST": host}) == address


@given(st.text())
def test_any_text_gives_an_address(host: str) -> None:
    address = ollama.address({"OLLAMA_HOST": host})
    assert "://" in address
    assert ollama.vendor_of("m", {"OLLAMA_HOST": host}) in ("local", ollama.ELSEWHERE)


@pytest.mark.parametrize("host", ["", "localhost", "127.0.0.1:8080", "127.1.2.3", "[::1]:1", "0.0.0.0"])
def test_what_goes_to_this_machine_goes_to_nobody(host: str) -> None:
    assert (
        ollama.vendor_of("qwen3-coder:30b", {"OLLAMA_HOST": host}) == agents.get("ollama").vendor == "local"
    )


@pytest.mark.parametrize("host", ["box.lan", "192.168.0.7", "https://ollama.com", "127.0.0.1.example", "a@b"])
def test_what_goes_to_another_machine_goes_to_someone(host: str) -> None:
    assert ollama.vendor_of("qwen3-coder:30b", {"OLLAMA_HOST": host}) == "ollama"


@pytest.mark.parametrize("model", ["gpt-oss:120b-cloud", "glm-4.6:cloud", "Qwen3-Coder:480B-Cloud"])
def test_a_model_in_the_cloud_is_not_on_this_machine(model: str) -> None:
    assert ollama.vendor_of(model, {}) == "ollama"
    assert ollama.vendor_of("cloud-expert:7b", {}) == "local"
