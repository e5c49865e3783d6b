"""Simulation studies whose results are committed under reports/."""
