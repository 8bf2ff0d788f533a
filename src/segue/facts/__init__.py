"""Entries in, facts out: what was asked, done and found, each with its current value. Pure, no model.

`tracker` goes through the entries. `speech` knows what people's words bind to, `asking` what is asked and what answers
it, `pasted` what was only copied into a message; `shell`, `outcomes` and `go_tests` know what commands and their output
tell, `runs`, `going` and `repository` what comes of them, `blame` when an error is over; `files`, `todos` and `heat`
keep what a kind of fact needs to be followed.
"""
