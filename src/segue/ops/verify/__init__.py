"""Checking what an agent did and says it did, and coming back from it."""
