"""Starting an agent program with a model of Ollama, and where that model runs."""

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
"""The vendor of models that don't run on this machine."""

HOME, PORT, LAST_PORT = "127.0.0.1", 11434, 65535
_PORTS = {"http": 80, "https": 443}
_HOST_AND_PORT = re.compile(r"(\[[^\]]*\]|[^:]*):([^:]*)")
_NUMBER = re.compile(r"[0-9]{1,5}")
_MODEL = re.compile(r"[A-Za-z0-9][\w./:@-]{0,199}")
_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - a server's listening address; clients use this machine's


# The program that is started


def program(env: Mapping[str, str]) -> str | None:
    """The program that is started; None if none is installed."""
    return _carrier(env)[1]


def keeps_transcripts_as(env: Mapping[str, str]) -> str:
    """The agent that writes the transcript; empty if none is installed."""
    return _carrier(env)[0]


def _carrier(env: Mapping[str, str]) -> tuple[str, str | None]:
    for name in CARRIERS:
        if path := agents.locate(agents.get(name), env).path:
            return name, path
    return "", None


def check_model(model: str, env: Mapping[str, str]) -> None:
    """Check that a model is named, and that a server answers."""
    import socket  # lazy: only this check needs it
    from urllib.parse import urlsplit

    _require_model(model)
    url = urlsplit(address(env))
    try:
        socket.create_connection((url.hostname or HOME, url.port or PORT), timeout=ANSWERS_WITHIN_S).close()
    except OSError as error:
        raise AgentError(
            agent=AGENT.title,
            what=f"no server answers at {url.scheme}://{url.netloc} (ollama serve starts one)",
        ) from error


def _require_model(model: str) -> None:
    if not _MODEL.fullmatch(model):
        what = f"'{model[:80]}' is not a model of Ollama." if model else "Ollama needs a model."
        raise BadInput(what=what, next="segue to ollama:MODEL; ollama list shows the installed models")


def command(start: Start, env: Mapping[str, str]) -> Launch:
    _require_model(start.model)
    carrier = keeps_transcripts_as(env)
    if not carrier:
        raise AgentError(
            agent=AGENT.name, what=f"no program is installed that can use its models ({', '.join(CARRIERS)})"
        )
    changes, variables = _POINTED[carrier](start, env)
    # The carrier sees these variables, and may extend them.
    launch = agents.starter(carrier).command(msgspec.structs.replace(start, **changes), {**env, **variables})
    return Launch(argv=launch.argv, env={**variables, **launch.env}, stdin=launch.stdin)


# Options for each program

Pointed = tuple[dict[str, Any], dict[str, str]]
"""Changes to the start, and variables for the program."""


def _point_codex(start: Start, env: Mapping[str, str]) -> Pointed:
    """Not by --oss: that downloads models, and 0.166 then refuses to start a turn with the provider that it chose."""
    # A background server that is already running does not know this address.
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
    """Ollama also supports its protocol. The user's own key would be sent, so it is cleared."""
    return {}, {
        "ANTHROPIC_BASE_URL": address(env),
        "ANTHROPIC_AUTH_TOKEN": "ollama",
        "ANTHROPIC_API_KEY": "",
        # Titles are written by a small model that Ollama does not have.
        "ANTHROPIC_DEFAULT_HAIKU_MODEL": start.model,
    }


_POINTED = {"codex": _point_codex, "opencode": _point_opencode, "claude": _point_claude}


def stop_of(output: Output, now: Moment) -> Stop | None:
    """Why a run ended, by the output of the program that ran it: all of them print different errors."""
    told = [stop for name in CARRIERS if (read := agents.load(name).stop_of) and (stop := read(output, now))]
    return next((stop for stop in told if stop.why is not Why.CRASHED), told[0] if told else None)


# The server


def address(env: Mapping[str, str]) -> str:
    """The address of Ollama's server: OLLAMA_HOST, read as Ollama reads it."""
    scheme, host, port, path = _told(env)
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}{path}"


def vendor_of(model: str, env: Mapping[str, str]) -> str:
    """The vendor of a model: "local" if it runs on this machine."""
    tag = model.rpartition(":")[2].lower()
    is_at_home = _is_this_machine(_told(env)[1]) and tag != "cloud" and not tag.endswith("-cloud")
    return AGENT.vendor if is_at_home else ELSEWHERE


def _told(env: Mapping[str, str]) -> tuple[str, str, int, str]:
    """Scheme, host, port and path of OLLAMA_HOST, with defaults."""
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
