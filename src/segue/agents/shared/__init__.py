"""What all agents share: reading transcripts, classifying tool calls, changing settings, starting a program."""
