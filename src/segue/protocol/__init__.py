"""Handoff documents: schema, reduction to a tier, expected output. Pure."""
