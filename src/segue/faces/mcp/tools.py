"""The MCP tools: names, descriptions and parameters."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import click
from mcp.server.mcpserver import Context
from mcp_types import CallToolResult, ToolAnnotations
from pydantic import Field

from segue.faces import render
from segue.faces.mcp.server import Server
from segue.faces.screens import handoffs, receipts
from segue.faces.screens import overview as overview_screen
from segue.faces.screens import sessions as session_screens
from segue.model import Fate, Handoff, Preserve, Tier
from segue.ops import agent_access
from segue.ops.agent_access import Prepared
from segue.ops.briefs.make import Made

Asked = Context[Any, Any]
Folder = Annotated[
    str, Field(description="A folder inside the one that is open; leave it out for that one itself.")
]
Limit = Annotated[int, Field(ge=1, le=50, description="How many, at most.")]
Level = Literal["full", "selective", "filtered", "minimal", "metadata"]
Kept = Literal["", "minimal", "standard", "complete"]
READS = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
PREPARES = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)


def add_tools(server: Server) -> None:
    add_standing(server)
    add_brief(server)
    add_records(server)
    add_doing(server)


def add_standing(server: Server) -> None:
    """Tools for limits and sessions."""

    @server.tool(title="Limits and status", annotations=READS)
    async def status(context: Asked, folder: Folder = "") -> CallToolResult:
        """How much every coding agent on this machine has left of its limits, how full this folder's latest session is
        (not counting this conversation), and whether that work should be handed to another agent now."""
        return await server.answer(
            context,
            folder,
            agent_access.overview,
            lambda overview: click.unstyle(overview_screen.overview(overview)),
            lambda overview: {"overview": overview},
        )

    @server.tool(title="Sessions of this folder", annotations=READS)
    async def sessions(context: Asked, folder: Folder = "", limit: Limit = 20) -> CallToolResult:
        """The pieces of work in this folder, whichever agents they were done with, the last active first."""
        return await server.answer(
            context,
            folder,
            lambda desk, caller: agent_access.listed(desk, caller, limit),
            lambda works: click.unstyle(session_screens.listed(works)),
            lambda works: {"sessions": works},
        )

    @server.tool(title="One session", annotations=READS)
    async def session(
        context: Asked,
        id: Annotated[
            str, Field(description="Its id or the start of it; left out, the latest but this conversation.")
        ] = "",
        folder: Folder = "",
    ) -> CallToolResult:
        """One session of this folder: its transcripts, by which agents, and its handoffs."""
        return await server.answer(
            context,
            folder,
            lambda desk, caller: agent_access.session(desk, caller, id),
            lambda info: click.unstyle(session_screens.info(info)),
            lambda info: {"session": info},
        )


def add_brief(server: Server) -> None:
    """The tool for briefs."""

    @server.tool(title="Brief", annotations=READS)
    async def brief(
        context: Asked,
        of: Annotated[
            str,
            Field(
                description="A session, transcript or handoff of this folder, by its id; left out, the latest session."
            ),
        ] = "",
        tier: Annotated[
            Level, Field(description="How much may be passed, from all to figures.")
        ] = "selective",
        budget: Annotated[
            int, Field(ge=0, le=20_000, description="At most so many tokens; 0 for the usual.")
        ] = 0,
        folder: Folder = "",
    ) -> CallToolResult:
        """What an agent needs to know to go on with this folder's work: the instructions and constraints of the
        person word for word, files, commands and tests with their last state, decisions, open tasks. Without
        an id it describes the latest session here, not counting this conversation; `sessions` lists all of them."""
        return await server.answer(
            context,
            folder,
            lambda desk, caller: agent_access.brief(desk, caller, of, Tier(tier.upper()), budget),
            lambda made: made.text,
            None,  # only the text fences quoted content
        )


def counts(made: Made) -> dict[str, int]:
    return {fate.value: made.receipt.count(fate) for fate in Fate}


def add_records(server: Server) -> None:
    """Tools for past handoffs."""

    @server.tool(title="Receipt", annotations=READS)
    async def receipt(
        context: Asked,
        handoff: Annotated[str, Field(description="The handoff's id; the last one's if left out.")] = "",
        folder: Folder = "",
    ) -> CallToolResult:
        """What a handoff of this folder passed to the next agent, what it did not, and why, fact by fact."""
        return await server.answer(
            context,
            folder,
            lambda desk, caller: agent_access.receipt(desk, caller, handoff),
            lambda made: click.unstyle(receipts.receipt(made)),
            lambda made: {"id": made.id, "facts": counts(made), "receipt": made.receipt},
        )

    @server.tool(title="Handoffs of this folder", annotations=READS)
    async def history(context: Asked, folder: Folder = "", limit: Limit = 10) -> CallToolResult:
        """The last handoffs of this folder: from which agent to which, why, and how they went."""
        return await server.answer(
            context,
            folder,
            lambda desk, caller: agent_access.history(desk, caller, limit),
            lambda found: click.unstyle(handoffs.history(found)),
            lambda found: {"handoffs": found},
        )

    @server.tool(title="One handoff", annotations=READS)
    async def handoff(
        context: Asked,
        id: Annotated[str, Field(description="Its id or the start of it; the last one if left out.")] = "",
        folder: Folder = "",
    ) -> CallToolResult:
        """One handoff of this folder: where it stands, how it went, what was not passed."""
        return await server.answer(
            context,
            folder,
            lambda desk, caller: agent_access.handoff(desk, caller, id),
            lambda found: click.unstyle(handoffs.handoff(found)),
            lambda found: {"handoff": found},
        )


To = Annotated[str, Field(description="Who continues the work: an agent, or agent:model.")]
Why = Annotated[str, Field(description="Why, for the record.")]
Preserved = Annotated[Kept, Field(description="How much is passed; the setting's value if left out.")]


def add_doing(server: Server) -> None:
    """Tools that are listed only if the setting mcp.allow permits them."""
    server.rights |= {"prepare_handoff": "prepare", "offer_handoff": "offer"}

    @server.tool(title="Prepare a handoff", annotations=PREPARES)
    async def prepare_handoff(
        context: Asked, to: To, reason: Why = "", preserve: Preserved = "", folder: Folder = ""
    ) -> CallToolResult:
        """Package this conversation's work for another agent. Nothing is started and nothing leaves this machine: the
        person does that with the command in the answer."""
        return await server.answer(
            context,
            folder,
            lambda desk, caller: agent_access.prepare(desk, caller, to, reason, kept(preserve)),
            prepared,
            lambda found: {"handoff": found.handoff, "notes": found.notes},
        )

    @server.tool(title="Offer a handoff", annotations=PREPARES)
    async def offer_handoff(
        context: Asked, to: To, reason: Why = "", preserve: Preserved = "", folder: Folder = ""
    ) -> CallToolResult:
        """Package this conversation's work for another agent and leave it waiting: that agent is notified when
        the person next starts it in this folder. Nothing is started."""
        return await server.answer(
            context,
            folder,
            lambda desk, caller: agent_access.offer(desk, caller, to, reason, kept(preserve)),
            offered,
            lambda found: {"handoff": found.handoff, "notes": found.notes},
        )


def kept(preserve: Kept) -> Preserve | None:
    return Preserve(preserve) if preserve else None


def prepared(found: Prepared) -> str:
    """Message for the user: only they can start the next agent."""
    return _with_notes(found, _prepared_sentence(found.handoff))


def offered(found: Prepared) -> str:
    way = "or to start that agent in this folder: where Segue's hooks are set up, it is notified."
    return _with_notes(found, f"{_prepared_sentence(found.handoff)}, {way}")


def _with_notes(found: Prepared, text: str) -> str:
    notes = [f"Tell the person too: {render.clean(note.removeprefix('note: '))}" for note in found.notes]
    return "\n".join([text, *notes])


def _prepared_sentence(handoff: Handoff) -> str:
    return (
        f"Handoff {handoff.id} to {render.clean(handoff.target)} is prepared; nothing was started. "
        f"Tell the person to run: segue handoff execute {handoff.id} --open"
    )
