"""What every operation has at hand: the desk, settings, addresses, redaction, processes, git."""
