"""What was decided and what is left to decide, in lines for the terminal: names and counts, no values."""

from collections.abc import Iterator

from synthdp.guessing.proposal import Proposal
from synthdp.schema import Role


def tell(proposal: Proposal) -> Iterator[str]:
    """Yield the decisions, then the questions."""
    roles = [f"{len(proposal.having(role))} {word}" for role, word in _WORDS.items() if proposal.having(role)]
    yield f"{proposal.records} records, {len(proposal.columns)} columns: {', '.join(roles)}."
    for role, words in _WORDS.items():
        if role is not Role.KEEP and proposal.having(role):
            yield f"  {words}: {', '.join(guess.name for guess in proposal.having(role))}"
    coded = list(dict.fromkeys([*proposal.codes, *proposal.words]))
    if coded:
        yield f"  missing codes in: {', '.join(coded)}"
    skipped = [f"{skip.column} (by {skip.because})" for skip in proposal.skips.values()]
    if skipped:
        yield f"  not asked of everyone: {', '.join(skipped)}"
    questions = [(guess.name, sentence) for guess in proposal.columns for sentence in guess.decide]
    if questions:
        yield "To decide:"
    for name, sentence in questions:
        yield f"  {name}: {sentence}"


_WORDS = {Role.REPLACE: "replaced", Role.DERIVED: "recomputed", Role.DROP: "dropped", Role.KEEP: "kept"}
