"""Ollama as the receiver of work: which program is started, how it is pointed at a model, and where that model runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from segue import agents
from segue.agents.ollama import AGENT, CARRIERS
from segue.agents.shared.launch import Launch, Start
from segue.agents.shared.transcripts.reader import compact, decode, dict_of
from segue.base.clock import Moment
from segue.errors import AgentError, BadInput
from segue.model.delivery import Mode
from segue.model.exit_reason import Output, Stop, Why

ANSWERS_WITHIN_S = 3.0
ELSEWHERE = "ollama"
"""The vendor, where a model does not run on this machine."""

HOME, PORT, LAST_PORT = "127.0.0.1", 11434, 65535
_PORTS = {"http": 80, "https": 443}
_HOST_AND_PORT = re.compile(r"(\[[^\]]*\]|[^:]*):([^:]*)")
_NUMBER = re.compile(r"[0-9]{1,5}")
_MODEL = re.compile(r"[A-Za-z0-9][\w./:@-]{0,199}")
_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - a server listens so; to ask it, it is this machine


# Who carries the work


def program(env: Mapping[str, str]) -> str | None:
    """The program that is really started; None where none is installed that can be pointed at a model."""
    return _carrier(env)[1]


def keeps_transcripts_as(env: Mapping[str, str]) -> str:
    """The agent whose transcript arises; empty where none is installed."""
    return _carrier(env)[0]


def _carrier(env: Mapping[str, str]) -> tuple[str, str | None]:
    for name in CARRIERS:
        if path := agents.locate(agents.get(name), env).path:
            return name, path
    return "", None


def check_model(model: str, env: Mapping[str, str]) -> None:
    """Whether a model is named, and a server answers."""
    import socket  # lazy: only who hands over needs them
    from urllib.parse import urlsplit

    if not _MODEL.fullmatch(model):
        what = (
            "Of the models of Ollama one must be named."
            if not model
            else f"'{model[:80]}' is no model of Ollama's."
        )
        raise BadInput(what=what, next="segue to ollama:MODEL; ollama list shows the models that are there")
    url = urlsplit(address(env))
    try:
        socket.create_connection((url.hostname or HOME, url.port or PORT), timeout=ANSWERS_WITHIN_S).close()
    except OSError as error:
        raise AgentError(
            agent=AGENT.title,
            what=f"it does not answer at {url.scheme}://{url.netloc} (ollama serve starts it)",
        ) from error


def command(start: Start, env: Mapping[str, str]) -> Launch:
    if not _MODEL.fullmatch(start.model):
        what = (
            f"'{start.model[:80]}' is no model of Ollama's."
            if start.model
            else "Of the models of Ollama one must be named."
        )
        raise BadInput(what=what, next="segue to ollama:MODEL; ollama list shows the models that are there")
    carrier = keeps_transcripts_as(env)
    if not carrier:
        raise AgentError(
            agent=AGENT.name, what=f"no program is installed that can use its models ({', '.join(CARRIERS)})"
        )
    changes, variables = _POINTED[carrier](start, env)
    # The carrier may add to a variable that is pointed with: it is given it, and has the last word.
    launch = agents.starter(carrier).command(msgspec.structs.replace(start, **changes), {**env, **variables})
    return Launch(argv=launch.argv, env={**variables, **launch.env}, stdin=launch.stdin)


# Pointing each of them at a model

Pointed = tuple[dict[str, Any], dict[str, str]]
"""What changes in a start, and the variables that go with it."""


def _point_codex(start: Start, env: Mapping[str, str]) -> Pointed:
    """Not by --oss: that fetches models, and 0.166 then refuses to start a turn with the provider that it chose."""
    # The server in the background, if one runs already, does not know where this Ollama is.
    is_apart = start.mode is Mode.OPEN and address(env) != address({})
    arguments = ("-c", 'model_provider="ollama"', *(("--no-daemon",) if is_apart else ()), *start.arguments)
    return {"arguments": arguments}, {"CODEX_OSS_BASE_URL": f"{address(env)}/v1"}


def _point_opencode(start: Start, env: Mapping[str, str]) -> Pointed:
    name = "OPENCODE_CONFIG_CONTENT"
    config = decode(env.get(name, "").encode(errors="replace")) or {}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": AGENT.title,
        "options": {"baseURL": f"{address(env)}/v1"},
        "models": {start.model: {"name": start.model, "tool_call": True}},
    }
    config["provider"] = {**dict_of(config.get("provider")), "ollama": provider}
    return {"model": f"ollama/{start.model}"}, {name: compact(config)}


def _point_claude(start: Start, env: Mapping[str, str]) -> Pointed:
    """Ollama speaks its protocol too. A key of the person's own would go along, so there is none."""
    return {}, {
        "ANTHROPIC_BASE_URL": address(env),
        "ANTHROPIC_AUTH_TOKEN": "ollama",
        "ANTHROPIC_API_KEY": "",
        # Titles and the like are written by a small model, which Ollama has not got.
        "ANTHROPIC_DEFAULT_HAIKU_MODEL": start.model,
    }


_POINTED = {"codex": _point_codex, "opencode": _point_opencode, "claude": _point_claude}


def stop_of(output: Output, now: Moment) -> Stop | None:
    """How a run stopped, in the words of the program that carried it: no two of them print alike."""
    told = [stop for name in CARRIERS if (read := agents.load(name).stop_of) and (stop := read(output, now))]
    return next((stop for stop in told if stop.why is not Why.CRASHED), told[0] if told else None)


# Where it is


def address(env: Mapping[str, str]) -> str:
    """Where Ollama listens: by OLLAMA_HOST, read as Ollama itself reads it."""
    scheme, host, port, path = _told(env)
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}{path}"


def vendor_of(model: str, env: Mapping[str, str]) -> str:
    """Who gets what is said to a model: nobody beyond this machine, or someone elsewhere."""
    tag = model.rpartition(":")[2].lower()
    is_at_home = _is_this_machine(_told(env)[1]) and tag != "cloud" and not tag.endswith("-cloud")
    return AGENT.vendor if is_at_home else ELSEWHERE


def _told(env: Mapping[str, str]) -> tuple[str, str, int, str]:
    """Scheme, host, port and path, each with what it is where nothing is told."""
    text = env.get("OLLAMA_HOST", "").strip().strip("\"'").strip()
    scheme, is_named, rest = text.partition("://")
    scheme, rest = (scheme.lower(), rest) if is_named else ("http", text)
    port = _PORTS.get(scheme, PORT) if is_named else PORT
    where, _, path = rest.partition("/")
    if found := _HOST_AND_PORT.fullmatch(where):
        where = found[1]
        port = int(found[2]) if _NUMBER.fullmatch(found[2]) and int(found[2]) <= LAST_PORT else port
    host = where.strip("[]") or HOME
    path = path.rstrip("/")
    return scheme, HOME if host in _EVERYWHERE else host, port, f"/{path}" if path else ""


def _is_this_machine(host: str) -> bool:
    import ipaddress  # lazy: as above

    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
