"""The `llm` library: finding a model, and continuing a conversation from elsewhere.

The library is the user's own, with their keys and models. It is loaded only when a model is used, and its
exceptions are translated here.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping, Sequence
from typing import Any

from segue.errors import AgentError, BadInput

THOUGHTS = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
"""Thoughts that some models write before the answer."""
KNOWN = "llm models lists the known models"

Pairs = Sequence[tuple[str, str]]
"""Prompts with their answers."""


def is_installed() -> bool:
    return importlib.util.find_spec("llm") is not None


def refuse_without() -> None:
    if not is_installed():
        what = "its library is not installed with Segue; in Segue's checkout: uv tool install '.[llm]'"
        raise AgentError(agent="llm", what=what)


def get(model: str) -> Any:
    """A model of the library, by its name or alias."""
    try:
        import llm  # lazy: takes 0.6 s to load
    except ImportError as error:
        raise BadInput(
            what="Rewriting needs the library llm, which is not installed.",
            next="in Segue's checkout: uv tool install '.[llm]', or pipx install '.[llm]'",
        ) from error
    try:
        return llm.get_model(model)
    except llm.UnknownModelError:
        raise BadInput(what=f"The library llm has no model '{model}'.", next=KNOWN) from None
    except Exception as error:  # a plugin may raise anything while it is loaded
        raise AgentError(agent="llm", what=f"its models cannot be listed: {error!r}") from error


def asked(model: Any, before: Pairs, prompt: str, *, system: str, options: Mapping[str, str]) -> Any:
    """The library's response to a prompt after a conversation. Iterate over it for the text."""
    told = {"stream": model.can_stream, "options": dict(options), **({"system": system} if system else {})}
    if not before:
        return model.prompt(prompt, **told)
    if not getattr(model, "supports_conversation", True):
        return model.prompt(as_text(before, prompt), **told)
    return _conversation(model, before).prompt(prompt, **told)


def _conversation(model: Any, before: Pairs) -> Any:
    """A conversation for all plugins: some use the messages, others the earlier responses."""
    import llm  # lazy: as above

    library: Any = llm
    conversation = model.conversation()
    chain: list[dict[str, Any]] = []
    for said, answered in before:
        own = [_message("user", said)]
        answer = [_message("assistant", answered)]
        chain += own
        # A conversation continues from its last response, with everything that was sent for it.
        is_last = len(conversation.responses) == len(before) - 1
        data: Any = {
            "model": model.model_id,
            "prompt": {"messages": chain if is_last else own},
            "messages": answer,
        }
        response = library.Response.from_dict(data, model=model)
        response.prompt = library.Prompt(said, model=model, messages=response.prompt.messages)
        conversation.responses.append(response)
        chain += answer
    return conversation


def _message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "text": text}]}


def as_text(before: Pairs, prompt: str) -> str:
    """Everything as one message, for a model without conversations."""
    held = (f"You were told:\n\n{said}\n\nYou answered:\n\n{answered}" for said, answered in before)
    return "\n\n".join([*held, prompt])
