"""Conversation in a form that every target accepts; the only place where it is repaired. Pure.

entries -> `Tail` (since the last compaction, bounded) -> turns -> `fit_turns` (within a budget) -> `clean_turns`

A tail is fed entry by entry and stored with the tracker, so a long transcript is read only once. Its output is
valid for every vendor: the user's turn comes first, each call has its result, ids and names are plain, ids are
unique, nothing is empty, everything is UTF-8. Reasoning is left out because no other vendor reads it.
"""

from segue.conversation.clean import cleaned, text_of
from segue.conversation.select_turns import fit, shortened, weight
from segue.conversation.tail import Kept, Tail
from segue.conversation.turns import Turns

__all__ = ["Kept", "Tail", "Turns", "cleaned", "fit", "shortened", "text_of", "weight"]
