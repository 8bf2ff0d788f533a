"""What more than one face shows: a value of ours as text, the same wherever it is read."""
