"""The `llm` library itself: finding a model, and going on with a conversation that was held elsewhere.

The library is the person's own: its keys and models are those that they set up for it. It is loaded only when a
model is asked for, and what it raises is translated here.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping, Sequence
from typing import Any

from segue.errors import AgentError, BadInput

THOUGHTS = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
"""What some models say aloud before they answer."""
KNOWN = "llm models lists those it knows"

Pairs = Sequence[tuple[str, str]]
"""What the one side said, and what the other answered."""


def is_installed() -> bool:
    return importlib.util.find_spec("llm") is not None


def refuse_without() -> None:
    if not is_installed():
        what = "the library is not installed beside Segue; in Segue's checkout: uv tool install '.[llm]'"
        raise AgentError(agent="llm", what=what)


def get(model: str) -> Any:
    """A model of the library, by its name or alias."""
    try:
        import llm  # lazy: takes 0.6 s to load, and only who asks a model needs it
    except ImportError as error:
        raise BadInput(
            what="Rewriting needs the library llm, which is not installed.",
            next="in Segue's checkout: uv tool install '.[llm]', or pipx install '.[llm]'",
        ) from error
    try:
        return llm.get_model(model)
    except llm.UnknownModelError:
        raise BadInput(what=f"The library llm knows no model '{model}'.", next=KNOWN) from None
    except Exception as error:  # another's code: a plugin may raise anything while it is loaded
        raise AgentError(agent="llm", what=f"its models cannot be listed: {error!r}") from error


def asked(model: Any, before: Pairs, prompt: str, *, system: str, options: Mapping[str, str]) -> Any:
    """A response of the library's, to be gone through: what a model says to a prompt after a conversation."""
    told = {"stream": model.can_stream, "options": dict(options), **({"system": system} if system else {})}
    if not before:
        return model.prompt(prompt, **told)
    if not getattr(model, "supports_conversation", True):
        return model.prompt(as_text(before, prompt), **told)
    return _conversation(model, before).prompt(prompt, **told)


def _conversation(model: Any, before: Pairs) -> Any:
    """Some plugins are given the messages, others go through the responses before: both find it all."""
    import llm  # lazy: as above

    library: Any = llm
    conversation = model.conversation()
    chain: list[dict[str, Any]] = []
    for said, answered in before:
        own = [_message("user", said)]
        answer = [_message("assistant", answered)]
        chain += own
        # What a conversation goes on from is the last response, with all that was sent for it.
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
    """All of it as one message, for a model that holds no conversations."""
    held = (f"You were told:\n\n{said}\n\nYou answered:\n\n{answered}" for said, answered in before)
    return "\n\n".join([*held, prompt])
