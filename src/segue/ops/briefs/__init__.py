"""Making briefs, contexts, handoff documents and saved handoffs."""
