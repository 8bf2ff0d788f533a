"""Entries in, facts out: what was asked, done and found, each with its current value. Pure, no model.

`tracker` goes through the entries; `speech` knows what people's words bind to, `shell` and `outcomes` what
commands and their output tell, `files`, `todos` and `heat` keep what a kind of fact needs to be followed.
"""
