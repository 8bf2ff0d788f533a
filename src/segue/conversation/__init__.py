"""What of a conversation is carried along to another agent: the one place where it is mended for all of them. Pure.

entries -> `Tail` (since the last compaction, bounded) -> turns -> `fit` (the newest, within a room) -> `cleaned`

A tail is fed entry by entry and kept with the tracker, so that a long transcript is gone through once. What it makes
of them holds for every vendor: the first turn is the person's, each call has its result, ids and names are plain and
no id is there twice, nothing is empty, everything is UTF-8. Thoughts stay behind: no other vendor reads them.
"""

from segue.conversation.clean import cleaned, text_of
from segue.conversation.select_turns import fit, shortened, weight
from segue.conversation.tail import Kept, Tail
from segue.conversation.turns import Turns

__all__ = ["Kept", "Tail", "Turns", "cleaned", "fit", "shortened", "text_of", "weight"]
