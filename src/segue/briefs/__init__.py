"""Facts to brief: selection within a token budget, wording, prompt, probes and their grading. Pure."""
