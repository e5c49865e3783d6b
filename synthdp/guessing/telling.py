"""What was decided and what is left to decide, in lines for the terminal: names and counts, no values."""

from collections.abc import Iterator

from synthdp.evaluation.risk.kept_sets import SHARE
from synthdp.guessing.proposal import Proposal
from synthdp.schema import Role

MOST_ASKED = 5


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
    if questions or proposal.alone or proposal.asked:
        yield "To decide:"
    for name, sentence in questions:
        yield f"  {name}: {sentence}"
    yield from _exposed(proposal)


def _exposed(proposal: Proposal) -> Iterator[str]:
    """Yield what the kept columns give away, and who may know them: the first few questions in full."""
    if proposal.alone:
        keys = [guess.name for guess in proposal.having(Role.KEEP) if guess.key]
        yield (
            f"  {proposal.alone:,} records are alone on the kept keys ({', '.join(keys)}): anyone who knows "
            "these finds them with certainty, which run refuses (release.max_exposed). Replace, drop or coarsen some."
        )
    questions = {guess.name: guess.question for guess in proposal.columns}
    for name in proposal.asked[:MOST_ASKED]:
        yield f"  {questions[name]}"
    if rest := proposal.asked[MOST_ASKED:]:
        yield f"  Decide the same for {', '.join(rest)}; the config holds the figures."
    if proposal.unique > SHARE:
        yield (
            f"  {proposal.unique:.0%} of the records are unique on all kept columns together: say key: true for every "
            "one that somebody outside may know."
        )


_WORDS = {Role.REPLACE: "replaced", Role.DERIVED: "recomputed", Role.DROP: "dropped", Role.KEEP: "kept"}
