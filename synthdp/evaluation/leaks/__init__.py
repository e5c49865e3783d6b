"""A scan of a release for what must never be public, blind to how the release was made."""

from synthdp.evaluation.leaks.finding import Kind, Leak
from synthdp.evaluation.leaks.scan import inspector, scan

__all__ = ["Kind", "Leak", "inspector", "scan"]
