"""Assertions: what an agent says it did or found, found in its words and held against the world. Pure.

    replies -> prose (sentences) -> deeds, told (what each asserts) -> extract -> judge against a World -> rait

Rules, no model: a sentence counts only where it says outright that something is so, and an assertion is called
unsupported only where the world contradicts it, or where it must have left a trace and did not. Whatever cannot be
told mechanically is unknown, and said to be.
"""

from __future__ import annotations

from segue.assertions.extract import in_entries as in_entries
from segue.assertions.extract import in_reply as in_reply
from segue.assertions.judging import judge as judge
from segue.assertions.prohibitions import Prohibition as Prohibition
from segue.assertions.rait import Rait as Rait
from segue.assertions.rait import Word as Word
from segue.assertions.rait import in_words as in_words
from segue.assertions.rait import label as label
from segue.assertions.rait import report as report
from segue.assertions.record import Record as Record
from segue.assertions.record import record_of as record_of
from segue.assertions.values import Assertion as Assertion
from segue.assertions.values import Checked as Checked
from segue.assertions.values import Kind as Kind
from segue.assertions.values import Seen as Seen
from segue.assertions.values import TestRun as TestRun
from segue.assertions.values import Verdict as Verdict
from segue.assertions.values import World as World
