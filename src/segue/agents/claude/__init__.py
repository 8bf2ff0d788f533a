"""Claude Code, 1.0 to 2.1: where its transcripts are, and what their records say.

A transcript is a file of JSON lines, one record for each block of a message. Most records name their parent;
a sub-agent's are in a file of its own (from 2.0), or among the main ones. The words of a user record are taken
apart in `text`, limits in `limits`, what was typed meanwhile in `queue`. What totals need is in `finding` and
`figures`; all else is in `reader`, which is loaded when first asked for.
"""

from __future__ import annotations

from segue.agents.claude.locate import files
from segue.agents.claude.token_scan import rows

TYPE_CHECKING = False
if TYPE_CHECKING:  # not asked of typing: that takes long to load
    from segue.agents.claude.reader import (
        AGENT,
        CLIENTS,
        PERMITTING,
        SIGN_IN,
        belongings,
        caller_transcript,
        command,
        denied_in,
        discard,
        find,
        hooks,
        kept,
        limits_of_event,
        limits_of_status,
        new_id,
        pieces,
        read,
        recognise,
        reports_of,
        roots,
        side_file,
        spends,
        spoken,
        stop_of,
        tool_server,
        window_of_status,
        write,
    )

__all__ = [
    "AGENT",
    "CLIENTS",
    "PERMITTING",
    "SIGN_IN",
    "belongings",
    "caller_transcript",
    "command",
    "denied_in",
    "discard",
    "files",
    "find",
    "hooks",
    "kept",
    "limits_of_event",
    "limits_of_status",
    "new_id",
    "pieces",
    "read",
    "recognise",
    "reports_of",
    "roots",
    "rows",
    "side_file",
    "spends",
    "spoken",
    "stop_of",
    "tool_server",
    "window_of_status",
    "write",
]


def __getattr__(name: str) -> object:
    if name in __all__:
        from segue.agents.claude import reader  # lazy: see above

        return getattr(reader, name)
    raise AttributeError(f"module 'segue.agents.claude' has no attribute '{name}'")
