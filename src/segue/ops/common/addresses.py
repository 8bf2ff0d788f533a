"""Addresses of agents and models, with short names: 'opus' resolves to the agent that runs that family of models."""

from __future__ import annotations

import re

from msgspec import Struct

from segue import agents
from segue.errors import BadInput, NotFound
from segue.ops.common.desk import Desk
from segue.usage import budget

KEY = "handoff.models"
NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}")


class Address(Struct, frozen=True):
    """A target of a handoff: an agent, and the model to use."""

    name: str
    agent: str
    model: str
    is_installed: bool

    def __str__(self) -> str:
        return f"{self.agent}:{self.model}" if self.model else self.agent


def listed(desk: Desk) -> list[Address]:
    return [resolve(desk, entry) for entry in desk.settings.handoff_models]


def name_of(entry: str) -> str:
    return entry.partition("=")[0].strip()


def resolve(desk: Desk, text: str) -> Address:
    """Resolve 'agent', 'agent:model', 'name=agent:model', or a family of models."""
    name, is_alias, address = text.partition("=")
    name = name.strip()
    given = {name_of(entry): entry for entry in desk.settings.handoff_models if "=" in entry}
    if not is_alias:
        address = given[name].partition("=")[2] if name in given else name
    elif not NAME.fullmatch(name):
        raise BadInput(
            what=f"Invalid model name '{name}'.", next="segue handoff models --add NAME=AGENT:MODEL"
        )
    agent, is_named, model = address.strip().partition(":")
    if is_named and not model.strip():
        raise BadInput(
            what=f"'{address.strip()}' has no model.", next=f"segue to {agent}, or segue to {agent}:MODEL"
        )
    if is_named:
        agents.get(agent)
    elif agent not in agents.names():
        agent, model = _made_for(agent), agent
    return Address(name, agent, model, agents.program_of(agent, desk.env) is not None)


def _made_for(model: str) -> str:
    for name in agents.names():
        if any(
            budget.is_of_family(model, family) or _begins(model, family)
            for family in agents.get(name).families
        ):
            return name
    raise NotFound(
        noun="agent or model",
        name=model,
        next=f"segue handoff models --add {model}=AGENT:MODEL (agents: {', '.join(agents.names())})",
    )


def _begins(model: str, family: str) -> bool:
    """Whether a model name starts with a family and a number, as 'gpt4o' does."""
    return re.match(rf"{re.escape(family)}[\d.-]", model.lower()) is not None
