"""Assertions: what an agent says it did or found, extracted from its replies and checked against the world. Pure.

    replies -> sentences -> *_statements, denials, quoted_output -> extract -> verdicts -> scorecard

Rules decide, not a model. A sentence counts only if it states outright that something is so. An assertion is
unsupported only if the world contradicts it, or if it must have left a trace and did not. What rules cannot decide is
reported as unknown.
"""

from __future__ import annotations

from segue.assertions.assertion import Assertion as Assertion
from segue.assertions.assertion import Checked as Checked
from segue.assertions.assertion import Kind as Kind
from segue.assertions.assertion import Seen as Seen
from segue.assertions.assertion import TestRun as TestRun
from segue.assertions.assertion import Verdict as Verdict
from segue.assertions.assertion import World as World
from segue.assertions.evidence import Record as Record
from segue.assertions.evidence import record_of as record_of
from segue.assertions.extract import in_entries as in_entries
from segue.assertions.extract import in_reply as in_reply
from segue.assertions.scorecard import Rait as Rait
from segue.assertions.scorecard import Word as Word
from segue.assertions.scorecard import in_words as in_words
from segue.assertions.scorecard import label as label
from segue.assertions.scorecard import report as report
from segue.assertions.verdicts import judge as judge
