"""Every error that Segue raises on purpose, as one tree.

    SegueError
    ├── BadInput            2  what was typed does not fit
    │   ├── NotBuiltYet
    │   └── ExtraMissing
    ├── NotFound            1  there is no such thing
    ├── NoReason            1  nothing to hand over for
    ├── CannotPrint         1  it was done, but could not be shown
    ├── SettingsError       3
    │   ├── BadFile
    │   ├── UnknownKey
    │   ├── BadValue
    │   ├── FixedByPolicy
    │   ├── SettingsNotWritten
    │   └── DraftRefused
    ├── StoreError          4
    │   ├── StoreBusy
    │   ├── StoreDamaged
    │   │   └── LocalDamaged
    │   ├── IndexRenewed
    │   ├── StoreNewer
    │   ├── StoreReadOnly
    │   ├── StoreNotAllowed
    │   ├── StoreFull
    │   ├── StoreExposed
    │   ├── StoreForeign
    │   ├── StoreUnreachable
    │   ├── DriverMissing
    │   ├── BlobDamaged
    │   └── BackupDamaged
    ├── Refused             5  it could be done, but must not be
    │   ├── InUse
    │   ├── UndoConflict
    │   ├── NothingToUndo
    │   ├── KeyTaken
    │   ├── LeaseLost
    │   ├── SecretsLeft
    │   ├── NoConsent
    │   ├── NotTold
    │   ├── NotProved
    │   ├── Declined
    │   ├── AtLimit
    │   ├── Underway
    │   └── NoSuchStep
    ├── AgentError          6
    │   ├── NotInstalled
    │   ├── ReaderFailed
    │   ├── NotArrived
    │   ├── Stopped
    │   └── AgentFailed
    └── Bug                70  ours, not yours

The docstring is the message and `hint` names the next command; both are filled in from the keywords
that the error is raised with. The number is the exit code of the command line. Exceptions of
libraries are translated into these where the library is called, once.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # not asked of typing: that takes long to load
    from typing import Any, ClassVar


class SegueError(Exception):
    """{what}"""

    exit_code: ClassVar[int] = 1
    hint: ClassVar[str] = "segue help"

    def __init__(self, **details: Any) -> None:
        self.details = details
        super().__init__(" ".join((self.__doc__ or "").split()).format(**details))

    @property
    def next_step(self) -> str:
        return self.hint.format(**self.details)

    @property
    def kind(self) -> str:
        return type(self).__name__


class BadInput(SegueError):
    """{what}"""

    exit_code = 2
    hint = "{next}"


class NotBuiltYet(BadInput):
    """'{command}' is not in this version yet: {summary}."""

    hint = "segue demo shows what there is; segue help --all lists it"


class ExtraMissing(BadInput):
    """'{command}' needs {library}, which is not installed beside Segue."""

    hint = (
        "in Segue's checkout: uv tool install '.[{extra}]', or pipx install '.[{extra}]', "
        "or python3 -m venv V && V/bin/pip install '.[{extra}]'"
    )


class NoReason(SegueError):
    """Nothing in {name} says that a handoff is due."""

    exit_code = 1
    hint = "segue config get limits.recommend shows from when on it is"


class NotFound(SegueError):
    """There is no {noun} '{name}'."""

    exit_code = 1
    hint = "{next}"


class CannotPrint(SegueError):
    """The output cannot be written: {what}. What the command did is done all the same."""

    exit_code = 1
    hint = "send it elsewhere (segue ... > FILE); segue log shows what was changed"


class SettingsError(SegueError):
    """The settings cannot be used: {what}."""

    exit_code = 3
    hint = "segue config path"


class BadFile(SettingsError):
    """{place} cannot be read as settings: {what}."""

    hint = "mend that line with segue config edit, or move the file away"


class UnknownKey(SettingsError):
    """{place}: there is no setting '{key}'.{nearest}"""

    hint = "{next}"


class BadValue(SettingsError):
    """{place}: '{value}' is no value for {key}: it takes {takes}."""

    hint = "{next}"


class FixedByPolicy(SettingsError):
    """{key} is fixed by your organisation's policy file {place}."""

    hint = "segue config get {key} shows its value; whoever administers this machine can change it"


class SettingsNotWritten(SettingsError):
    """{place} cannot be written: {what}. Nothing was changed."""

    hint = "make it writable for you, or set SEGUE_HOME to a folder that is; segue config path shows all"


class DraftRefused(SettingsError):
    """{problem}. Your settings are as they were; your text is kept in {draft}."""

    hint = "segue config edit opens it where you left it; delete that file to start anew"


class StoreError(SegueError):
    """The store at {place} cannot be used: {what}."""

    exit_code = 4
    hint = "segue doctor"


class StoreBusy(StoreError):
    """The store at {place} was busy for {seconds} seconds: another process is writing. Nothing was
    changed."""

    hint = "run the command again; if it stays busy, segue doctor tells more"


class StoreDamaged(StoreError):
    """The store at {place} is damaged: {what}. It was left as it is."""

    hint = (
        "segue backup list, then segue backup restore latest (the damaged files are kept); "
        "with no backup, move the folder away and a new store is made"
    )


class LocalDamaged(StoreDamaged):
    """The local store at {place} is damaged: {what}. It was left as it is."""

    hint = "segue doctor --mend puts it aside and starts a new one; you then trust your project files again"


class IndexRenewed(StoreError):
    """The index of transcripts at {place} could not be used ({what}) and was put out of the way. Nothing else is
    lost with it."""

    hint = "run the command again: the index is made anew from the transcripts"


class StoreNewer(StoreError):
    """The store at {place} was written by a newer Segue (schema {found}; this one knows {known}). It was
    left as it is."""

    hint = "update Segue, or name another store: SEGUE_STORE=... segue ..."


class StoreReadOnly(StoreError):
    """The store at {place} cannot be written: {what}. Nothing was changed."""

    hint = "make the folder writable for you, or set SEGUE_HOME to one that is; segue doctor checks it"


class StoreNotAllowed(StoreError):
    """The store {place} does not allow that: {what}. Nothing was changed."""

    hint = "ask whoever administers the database for the right; segue doctor checks the store"


class StoreFull(StoreError):
    """There is no room left for the store at {place}: {what}. Nothing was changed."""

    hint = "free some space and run the command again; segue doctor checks the store"


class StoreExposed(StoreError):
    """{place} can be read or changed by others ({what}); Segue keeps transcripts there and does not use
    it so."""

    hint = "segue doctor --mend closes it to everyone but you"


class StoreForeign(StoreError):
    """{place} belongs to another user; Segue does not use it."""

    hint = "run as that user, or set SEGUE_HOME to a folder of your own"


class StoreUnreachable(StoreError):
    """The store {place} cannot be reached: {what}."""

    hint = (
        "segue config get store.url shows where that address comes from; "
        "SEGUE_STORE= segue ... uses the store in your own folder"
    )


class DriverMissing(StoreError):
    """The store {place} needs the PostgreSQL driver, which is not installed."""

    hint = "in Segue's checkout: uv tool install '.[postgres]', or pipx install '.[postgres]'"


class BlobDamaged(StoreError):
    """The content {hash} is missing from the store at {place}, or damaged: {what}."""

    hint = "segue doctor lists what is damaged; segue backup restore brings it back"


class BackupDamaged(StoreError):
    """The backup {place} cannot be used: {what}. The store was not touched."""

    hint = "segue backup list shows the others"


class Refused(SegueError):
    """{what}"""

    exit_code = 5
    hint = "{next}"


class InUse(Refused):
    """Session {id} cannot be made never to have been: it has handoffs."""

    hint = "segue session close {id} ends it and keeps them"


class UndoConflict(Refused):
    """{operation} ({kind}) cannot be undone: {subject} was changed again by {later}."""

    hint = "segue undo {later} first, or segue log to see the history"


class NothingToUndo(Refused):
    """There is nothing of yours to undo{where}."""

    hint = "segue log shows what was done, and by whom"


class KeyTaken(Refused):
    """The idempotency key '{key}' was used for another request before ({operation})."""

    hint = "use a new key; segue log show {operation} tells what the old one did"


class LeaseLost(Refused):
    """{subject} is no longer held by {holder}: the lease ran out and someone else may have taken it."""

    hint = "claim it again before going on"


class SecretsLeft(Refused):
    """{count} that look like secrets are still in what was about to leave ({kinds}); nothing was made of it."""

    hint = "segue redact --check FILE shows where; segue config set redact.allow, if they are none"


class NoConsent(Refused):
    """Nothing of this project has gone to {vendor} yet, and nobody is there to be asked.{kept}"""

    hint = "{again} --yes lets it go; {look} shows what would go"


class NotTold(Refused):
    """{caller} may not read this: nothing of this work has gone to {vendor} yet, and nobody is there to be asked."""

    hint = "{asking}segue config set vendors.allowed {allowed} allows that vendor everywhere"


class Declined(Refused):
    """Nothing was sent; the work stays with {agent}.{kept}"""

    hint = "{next}"


class NotProved(Refused):
    """The copy of {agent} answered {right} of {asked} questions, so {agent} was not started. Handoff {handoff} stays
    prepared."""

    hint = "segue show {handoff} shows what was passed; {again} --prove --anyway starts it nevertheless"


class AtLimit(Refused):
    """{agent} has used up {limit}{until}{scope}."""

    hint = "{next}"


class Underway(Refused):
    """Session {session} is being handed to {target} right now, by another segue."""

    hint = "segue handoff list shows how far it is"


class NoSuchStep(Refused):
    """A {noun} that is {state} cannot be {event}."""

    hint = "segue log shows how it came to be {state}"


class AgentError(SegueError):
    """{agent}: {what}."""

    exit_code = 6
    hint = "segue doctor shows which agents are installed"


class NotInstalled(AgentError):
    """{agent} is not installed here: there is no '{program}' on PATH."""

    hint = "segue doctor lists the agents that are; {kept}"


class ReaderFailed(AgentError):
    """{agent}: {path} cannot be read ({cause})."""

    hint = "segue doctor names every transcript that cannot be read"


class NotArrived(AgentError):
    """{agent} {what}."""

    hint = "{again} tries again; segue show {handoff} shows what was to go"


class Stopped(AgentError):
    """{agent} has the work, and stopped: {what}."""

    hint = "{again} lets it go on; segue to another agent hands it on"


class AgentFailed(AgentError):
    """{agent} did not finish: {what}."""

    hint = "segue log --limit 5 shows how far it came; the work is kept"


class Bug(SegueError):
    """Something went wrong inside Segue ({what}). That is a bug, and not your fault. {kept}"""

    exit_code = 70
    hint = "segue doctor; then run the command again with --debug to see the details"
