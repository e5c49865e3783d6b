"""Microdata to release: every method through one protocol."""
