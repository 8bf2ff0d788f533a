"""Facts from the entries of a transcript: what was asked, done and found, with current values. Pure, no model.

`tracker` goes through the entries. Words of the user and the agent: `constraints`, `questions`, `corrections`,
`decisions`, `received_brief`, `pasted_text`, `mentions`. Commands: `output`, `command_results`, `background`,
`open_errors`. State that several entries change: `file_states`, `todos`, `relevance`.
"""
