"""Whether a project's context may go to a vendor: asked once, and never guessed."""

from __future__ import annotations

from pathlib import Path

from segue import agents
from segue.model import Transcript
from segue.ops.common.desk import Desk
from segue.ops.work import discovery
from segue.usage import budget

AT_HOME = ("none", "local")
"""Vendors that are none: what goes to them stays on this machine."""


def vendor_of(desk: Desk, address: str) -> str:
    """Who gets what goes to an address: for an agent that runs models of several vendors, the model tells."""
    name, _, model = address.partition(":")
    tells = agents.load(name).vendor_of
    return str(tells(model, desk.env)) if tells else agents.get(name).vendor


def vendor_before(transcript: Transcript) -> str:
    """Who has the work already."""
    return vendor_behind(transcript.agent, transcript.model)


def vendor_behind(name: str, model: str) -> str:
    """Who was told what an agent was told: its vendor, if the model was one of its own. An agent may have been pointed
    at any other, on this machine or elsewhere."""
    agent = agents.get(name)
    is_own = not model or any(budget.is_of_family(model, family) for family in agent.families)
    return agent.vendor if is_own and agent.families else ""


def is_given(desk: Desk, folder: str, vendor: str, has_it: str) -> bool:
    """Whether nothing needs to be asked: the vendor has the work already, is none, or may have what is in a folder by
    the settings of that folder."""
    if vendor in AT_HOME or vendor == has_it or vendor in desk.settings_in(Path(folder)).vendors_allowed:
        return True
    return desk.has_local and desk.local.consents(discovery.work_folder(folder), vendor)


def give(desk: Desk, folder: str, vendor: str) -> None:
    desk.local.consent(discovery.work_folder(folder), vendor, desk.clock())
