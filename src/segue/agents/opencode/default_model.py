"""The model that OpenCode would choose by itself.

It continues a session with the model of its last message, and every message must name one, so a written
session needs a model. This looks where the program looks, in its order: settings, then what the user used
last. Only the model is read from a settings file.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from segue.agents.opencode import AGENT, storage
from segue.agents.opencode.reader import data_folder
from segue.agents.shared.transcripts.reader import Reading, text_of
from segue.base import files
from segue.errors import AgentError

SETTINGS = ("opencode.jsonc", "opencode.json")
GLOBAL_SETTINGS = (*SETTINGS, "config.json")
LARGEST = 1 << 20

_COMMENT = re.compile(r'("(?:[^"\\]|\\[\s\S])*(?:"|$))|//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/|$)')
_LAST_COMMA = re.compile(r'("(?:[^"\\]|\\[\s\S])*(?:"|$))|,(?=\s*[}\]])')


class Model(Struct, frozen=True):
    provider_id: str = msgspec.field(name="providerID")
    model_id: str = msgspec.field(name="modelID")


class _Settings(Struct):
    model: str = ""


class _Recent(Struct):
    recent: list[Model] = []


class _Used(Struct):
    id: str
    provider_id: str = msgspec.field(name="providerID")


def model_of_choice(project: Path, env: Mapping[str, str]) -> Model:
    found = next(_named(project, env), None) or _recent(env) or _used(env)
    if found is None:
        what = "neither its settings nor its last session name a model"
        raise AgentError(agent=AGENT.name, what=what)
    return found


def _named(project: Path, env: Mapping[str, str]) -> Iterator[Model]:
    """The models in settings, by precedence."""
    for content in _settings(project, env):
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
            plain = _LAST_COMMA.sub(r"\1", _COMMENT.sub(r"\1", content.decode()))
            provider, _, model = msgspec.json.decode(plain, type=_Settings).model.partition("/")
            if provider and model:
                yield Model(provider, model)


def _settings(project: Path, env: Mapping[str, str]) -> Iterator[bytes]:
    yield env.get("OPENCODE_CONFIG_CONTENT", "").encode(errors="replace")
    above = [project, *project.parents]
    folders = [folder / ".opencode" for folder in above] + above
    if own := env.get("OPENCODE_CONFIG_DIR"):
        folders.insert(0, Path(own))
    places = [folder / name for folder in folders for name in SETTINGS]
    if one := env.get("OPENCODE_CONFIG"):
        places.append(Path(one))
    if (general := _place(env, "XDG_CONFIG_HOME", ".config")) is not None:
        places += [general / name for name in GLOBAL_SETTINGS]
    for place in places:
        with contextlib.suppress(OSError, ValueError):
            yield files.read_file(place, LARGEST)


def _recent(env: Mapping[str, str]) -> Model | None:
    """The user's last choice on the program's screen."""
    folder = _place(env, "XDG_STATE_HOME", ".local/state")
    if folder is None:
        return None
    with contextlib.suppress(OSError, ValueError, msgspec.DecodeError):
        found = msgspec.json.decode(files.read_file(folder / "model.json", LARGEST), type=_Recent)
        return next(iter(found.recent), None)
    return None


def _used(env: Mapping[str, str]) -> Model | None:
    """The model of the most recent session."""
    folder = data_folder(env)
    with contextlib.suppress(AgentError, msgspec.DecodeError):
        sources = storage.in_databases(AGENT.name, folder, env.get("OPENCODE_DB", "")) if folder else iter(())
        if newest := max(sources, key=lambda source: source.stamp, default=None):
            with storage.opened(Reading(newest, None, lambda _: iter(()))) as kept:
                used = msgspec.json.decode(text_of(kept.session.get("model")), type=_Used)
                return Model(used.provider_id, used.id)
    return None


def _place(env: Mapping[str, str], name: str, usual: str) -> Path | None:
    if env.get(name):
        return Path(env[name], "opencode")
    return Path(env["HOME"], usual, "opencode") if env.get("HOME") else None
