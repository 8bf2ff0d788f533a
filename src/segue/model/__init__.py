"""Every noun of the vocabulary as a frozen value. No I/O, no behaviour beyond the value itself.

`docs/glossary.md` defines each one. Values compare by content and never change: a new state is a new value.
"""

from __future__ import annotations

from segue.model.agent import Agent as Agent
from segue.model.brief import Brief as Brief
from segue.model.brief import Fact as Fact
from segue.model.brief import Fate as Fate
from segue.model.brief import Package as Package
from segue.model.brief import Preserve as Preserve
from segue.model.brief import Receipt as Receipt
from segue.model.brief import ReceiptLine as ReceiptLine
from segue.model.brief import Section as Section
from segue.model.brief import Tier as Tier
from segue.model.handoff import ExpectedOutput as ExpectedOutput
from segue.model.handoff import Handoff as Handoff
from segue.model.handoff import HandoffState as HandoffState
from segue.model.operation import Blob as Blob
from segue.model.operation import Operation as Operation
from segue.model.session import Lease as Lease
from segue.model.session import Session as Session
from segue.model.session import SessionStatus as SessionStatus
from segue.model.transcript import INTERRUPT as INTERRUPT
from segue.model.transcript import Ending as Ending
from segue.model.transcript import Entry as Entry
from segue.model.transcript import EntryKind as EntryKind
from segue.model.transcript import Mark as Mark
from segue.model.transcript import Origin as Origin
from segue.model.transcript import Relation as Relation
from segue.model.transcript import Source as Source
from segue.model.transcript import Transcript as Transcript
from segue.model.usage import Limit as Limit
from segue.model.usage import Scope as Scope
from segue.model.usage import Spend as Spend
from segue.model.usage import Tokens as Tokens
from segue.model.usage import Trigger as Trigger
from segue.model.usage import TriggerType as TriggerType
from segue.model.usage import Urgency as Urgency
from segue.model.usage import Usage as Usage
from segue.model.value import Hash as Hash
from segue.model.value import Value as Value
