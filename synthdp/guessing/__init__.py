"""The only place that guesses: what the columns of an unknown file are, written as a config a person can correct."""

from synthdp.guessing.guesses import Guess
from synthdp.guessing.proposal import Proposal, propose
from synthdp.guessing.telling import tell
from synthdp.guessing.writing import to_yaml

__all__ = ["Guess", "Proposal", "propose", "tell", "to_yaml"]
