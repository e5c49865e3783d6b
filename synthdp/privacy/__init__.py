"""Formal guarantees: what was done (events) and what it proves."""
