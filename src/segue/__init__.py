"""Segue hands work from one AI coding agent to the next without losing the thread."""

__all__ = [
    "__version__",
    "all_transcripts",
    "auto_handoff",
    "brief",
    "current_task",
    "current_usage",
    "execute",
    "get_or_create_session",
    "handoff_history",
    "list_handoffs",
    "load_handoff",
    "prepare",
    "run",
    "save_handoff",
    "session",
    "should_handoff",
    "transcript_facts",
    "usage_report",
    "validate",
    "verify",
]

__version__ = "0.5.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from segue.faces.api import (
        all_transcripts,
        auto_handoff,
        brief,
        current_task,
        current_usage,
        execute,
        get_or_create_session,
        handoff_history,
        list_handoffs,
        load_handoff,
        prepare,
        run,
        save_handoff,
        session,
        should_handoff,
        transcript_facts,
        usage_report,
        validate,
        verify,
    )


def __getattr__(name: str) -> object:
    # Lazy: `--version` and hooks load nothing else.
    if name in __all__:
        from segue.faces import api

        return getattr(api, name)
    raise AttributeError(f"module 'segue' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
