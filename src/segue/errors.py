"""Every error that Segue raises on purpose, as one tree.

    SegueError
    ├── BadInput            2  invalid arguments or input
    │   ├── NotBuiltYet
    │   └── ExtraMissing
    ├── NotFound            1  unknown name or id
    ├── NoReason            1  no reason for a handoff
    ├── CannotPrint         1  done, but the output failed
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
    ├── Refused             5  possible, but not allowed
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
    └── Bug                70  a bug in Segue

The docstring is the message and `hint` names the next command; both are formatted with the keywords of the error. The
number is the exit code. Exceptions of libraries are translated into these where the library is called.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to load
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
    """'{command}' is not implemented yet: {summary}."""

    hint = "segue demo shows what works; segue help --all lists all commands"


class ExtraMissing(BadInput):
    """'{command}' needs {library}, which is not installed with Segue."""

    hint = (
        "in Segue's checkout: uv tool install '.[{extra}]', or pipx install '.[{extra}]', "
        "or python3 -m venv V && V/bin/pip install '.[{extra}]'"
    )


class NoReason(SegueError):
    """No handoff is due for {name}."""

    exit_code = 1
    hint = "segue config get limits.recommend shows the threshold"


class NotFound(SegueError):
    """There is no {noun} '{name}'."""

    exit_code = 1
    hint = "{next}"


class CannotPrint(SegueError):
    """The output cannot be written: {what}. The command itself succeeded."""

    exit_code = 1
    hint = "write it to a file (segue ... > FILE); segue log shows what was changed"


class SettingsError(SegueError):
    """The settings cannot be used: {what}."""

    exit_code = 3
    hint = "segue config path"


class BadFile(SettingsError):
    """{place} cannot be read as settings: {what}."""

    hint = "correct that line with segue config edit, or move the file away"


class UnknownKey(SettingsError):
    """{place}: there is no setting '{key}'.{nearest}"""

    hint = "{next}"


class BadValue(SettingsError):
    """{place}: invalid value '{value}' for {key}: expected {takes}."""

    hint = "{next}"


class FixedByPolicy(SettingsError):
    """{key} is fixed by your organisation's policy file {place}."""

    hint = "segue config get {key} shows its value; the administrator of this machine can change it"


class SettingsNotWritten(SettingsError):
    """{place} cannot be written: {what}. Nothing was changed."""

    hint = (
        "make it writable for you, or set SEGUE_HOME to a writable folder; segue config path shows all files"
    )


class DraftRefused(SettingsError):
    """{problem}. Your settings are unchanged; your text is kept in {draft}."""

    hint = "segue config edit reopens your text; delete that file to start over"


class StoreError(SegueError):
    """The store at {place} cannot be used: {what}."""

    exit_code = 4
    hint = "segue doctor"


class StoreBusy(StoreError):
    """The store at {place} was busy for {seconds} seconds: another process is writing. Nothing was
    changed."""

    hint = "run the command again; if it stays busy, run segue doctor"


class StoreDamaged(StoreError):
    """The store at {place} is damaged: {what}. It was left as it is."""

    hint = (
        "segue backup list, then segue backup restore latest (the damaged files are kept); "
        "without a backup, move the folder away and Segue creates a new store"
    )


class LocalDamaged(StoreDamaged):
    """The local store at {place} is damaged: {what}. It was left as it is."""

    hint = "segue doctor --mend moves it away and creates a new one; then trust your project files again"


class IndexRenewed(StoreError):
    """The index of transcripts at {place} could not be used ({what}) and was moved away. Nothing else is lost."""

    hint = "run the command again: Segue rebuilds the index from the transcripts"


class StoreNewer(StoreError):
    """The store at {place} was written by a newer Segue (schema {found}; this one knows {known}). It was
    left as it is."""

    hint = "update Segue, or use another store: SEGUE_STORE=... segue ..."


class StoreReadOnly(StoreError):
    """The store at {place} cannot be written: {what}. Nothing was changed."""

    hint = "make the folder writable for you, or set SEGUE_HOME to a writable one; segue doctor checks it"


class StoreNotAllowed(StoreError):
    """The store {place} does not allow that: {what}. Nothing was changed."""

    hint = "ask the administrator of the database for permission; segue doctor checks the store"


class StoreFull(StoreError):
    """No space is left for the store at {place}: {what}. Nothing was changed."""

    hint = "free some space and run the command again; segue doctor checks the store"


class StoreExposed(StoreError):
    """Other users can read or change {place} ({what}). Segue stores transcripts there, so it does not use it."""

    hint = "segue doctor --mend makes it private"


class StoreForeign(StoreError):
    """{place} belongs to another user; Segue does not use it."""

    hint = "run as that user, or set SEGUE_HOME to your own folder"


class StoreUnreachable(StoreError):
    """The store {place} cannot be reached: {what}."""

    hint = (
        "segue config get store.url shows where that address is set; "
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
    """Creating session {id} cannot be undone: it has handoffs."""

    hint = "segue session close {id} closes it and keeps them"


class UndoConflict(Refused):
    """{operation} ({kind}) cannot be undone: {subject} was changed again by {later}."""

    hint = "segue undo {later} first, or segue log to see the history"


class NothingToUndo(Refused):
    """You have nothing to undo{where}."""

    hint = "segue log shows who did what"


class KeyTaken(Refused):
    """The idempotency key '{key}' was already used for another request ({operation})."""

    hint = "use a new key; segue log show {operation} shows the earlier request"


class LeaseLost(Refused):
    """{holder} no longer holds {subject}: the lease expired, and someone else may have it."""

    hint = "claim it again before you continue"


class SecretsLeft(Refused):
    """{count} that look like secrets are still in the text that was about to leave ({kinds}). Nothing was sent."""

    hint = "segue redact --check FILE shows where; if they are not secrets, segue config set redact.allow"


class NoConsent(Refused):
    """{vendor} has received nothing from this project so far, and there is no terminal to ask on.{kept}"""

    hint = "{again} --yes sends it; {look} shows what would be sent"


class NotTold(Refused):
    """{caller} may not read this: {vendor} has received nothing of this work, and there is no terminal to ask on."""

    hint = "{asking}segue config set vendors.allowed {allowed} allows that vendor everywhere"


class Declined(Refused):
    """Nothing was sent. The work stays with {agent}.{kept}"""

    hint = "{next}"


class NotProved(Refused):
    """The copy of {agent} answered {right} of {asked} questions, so {agent} was not started. Handoff {handoff} stays
    prepared."""

    hint = "segue show {handoff} shows what was passed; {again} --prove --anyway starts it anyway"


class AtLimit(Refused):
    """{agent} has used up {limit}{until}{scope}."""

    hint = "{next}"


class Underway(Refused):
    """Another segue process is handing session {session} to {target} right now."""

    hint = "segue handoff list shows its progress"


class NoSuchStep(Refused):
    """A {noun} that is {state} cannot be {event}."""

    hint = "segue log shows its history"


class AgentError(SegueError):
    """{agent}: {what}."""

    exit_code = 6
    hint = "segue doctor shows which agents are installed"


class NotInstalled(AgentError):
    """{agent} is not installed: there is no '{program}' on PATH."""

    hint = "segue doctor lists the installed agents; {kept}"


class ReaderFailed(AgentError):
    """{agent}: {path} cannot be read ({cause})."""

    hint = "segue doctor names every transcript that cannot be read"


class NotArrived(AgentError):
    """{agent} {what}."""

    hint = "{again} tries again; segue show {handoff} shows what was to be passed"


class Stopped(AgentError):
    """{agent} has the work, but stopped: {what}."""

    hint = "{again} resumes it; segue to AGENT hands it to another agent"


class AgentFailed(AgentError):
    """{agent} did not finish: {what}."""

    hint = "segue log --limit 5 shows how far it got; the work is kept"


class Bug(SegueError):
    """Something went wrong inside Segue ({what}). This is a bug in Segue. {kept}"""

    exit_code = 70
    hint = "segue doctor; then run the command again with --debug to see the details"
