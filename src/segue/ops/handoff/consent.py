"""Consent to send a project's context to a vendor: asked for once, never guessed."""

from __future__ import annotations

from pathlib import Path

from segue import agents
from segue.model import Transcript
from segue.ops.common.desk import Desk
from segue.ops.work import discovery
from segue.usage import budget

AT_HOME = ("none", "local")
"""Vendors that run on this machine; nothing leaves it."""


def vendor_of(desk: Desk, address: str) -> str:
    """Vendor that receives what is sent to an address. Some agents run models of several vendors."""
    name, _, model = address.partition(":")
    tells = agents.load(name).vendor_of
    return str(tells(model, desk.env)) if tells else agents.get(name).vendor


def source_transcript(desk: Desk, id: str) -> Transcript | None:
    """Indexed transcript with this id."""
    known = (entry.transcript for entry in desk.index.transcripts().values())
    return next((one for one in known if one and one.id == id), None)


def vendor_before(transcript: Transcript) -> str:
    """Vendor that has the work already."""
    return vendor_behind(transcript.agent, transcript.model)


def vendor_behind(name: str, model: str) -> str:
    """Vendor of the model that an agent ran: the agent's own vendor if the model is one of its families. Empty for
    other models, because an agent can be configured to use any vendor."""
    agent = agents.get(name)
    is_own = not model or any(budget.is_of_family(model, family) for family in agent.families)
    return agent.vendor if is_own and agent.families else ""


def is_given(desk: Desk, folder: str, vendor: str, has_it: str) -> bool:
    """Whether no question is needed: the vendor is local, has the work already, or is allowed by the folder's settings
    or by earlier consent."""
    if vendor in AT_HOME or vendor == has_it or vendor in desk.settings_in(Path(folder)).vendors_allowed:
        return True
    return desk.has_local and desk.local.consents(discovery.work_folder(folder), vendor)


def give(desk: Desk, folder: str, vendor: str) -> None:
    desk.local.consent(discovery.work_folder(folder), vendor, desk.clock())
