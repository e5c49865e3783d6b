"""Files of other tools, spelt as the original is."""

from synthdp.foreign.files import File, Findings, harmonise

__all__ = ["File", "Findings", "harmonise"]
