"""Whether a project's context may go to a vendor: asked once, and never guessed."""

from __future__ import annotations

from segue import agents, places
from segue.ops import found
from segue.ops.desk import Desk

AT_HOME = ("none", "local")
"""Vendors that are none: what goes to them stays on this machine."""


def vendor_of(desk: Desk, address: str) -> str:
    """Who gets what goes to an address: for an agent that runs models of several vendors, the model tells."""
    name, _, model = address.partition(":")
    tells = agents.offers(name, "vendor_of")
    return str(tells(model, desk.env)) if tells else agents.get(name).vendor


def is_given(desk: Desk, vendor: str, source_vendor: str) -> bool:
    """Whether nothing needs to be asked: the vendor has the work already, is none, or may have it."""
    if vendor in AT_HOME or vendor == source_vendor or vendor in desk.settings.vendors_allowed:
        return True
    return desk.has_local and desk.local.consents(_project(desk), vendor)


def give(desk: Desk, vendor: str) -> None:
    desk.local.consent(_project(desk), vendor, desk.clock())


def _project(desk: Desk) -> str:
    return found.work_folder(places.as_text(desk.project))
