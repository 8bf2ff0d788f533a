"""The meaning of a command line: parts, purpose, effects, and whether it only reads."""
