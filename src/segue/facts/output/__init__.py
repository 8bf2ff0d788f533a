"""Output of commands: test results, errors and git's answers. Pure."""
