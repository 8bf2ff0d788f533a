"""A judge of briefs that knows nothing of Segue: it reads agents' raw files by itself, and imports nothing of it.

records   what was said and done, in one form for all agents
formats   raw transcript -> records, and a cut transcript back in the agent's own format
acts      a call -> what it does: runs a command, changes a file, plans
words     paths, identifiers, sentences and word sequences in any text
truth     records -> the facts that hold at the end of them
prose     a brief -> lines, each with the headings and items that it stands under
found     whether a brief states a fact with its current value
stale     what a brief states that no longer holds
forward   what the rest of the transcript uses, and how much of it a brief names
oracle    the best brief that one could make who sees the rest
score     all of it in one figure
"""
