"""The membership game: play it, let the worst score count, and say how sure that is."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
import pandas as pd

from synthdp.arrays import Booleans
from synthdp.errors import InputError, Unfinished
from synthdp.evaluation.combinations import require_columns
from synthdp.evaluation.comparison import Comparison, clusters
from synthdp.evaluation.risk.shadow.game import Deck, Others, State, States, stand_ins, vulnerable
from synthdp.evaluation.risk.shadow.influence import finding, ordinary_influence
from synthdp.evaluation.risk.shadow.questions import Coder
from synthdp.evaluation.risk.shadow.scores import Marks, Sheet
from synthdp.evaluation.risk.shadow.trial import Rounds, Trial
from synthdp.parallel import Advance, each
from synthdp.table.microdata import Codes, Floats
from synthdp.table.schema import Column, Role

FITS, TARGETS = 400, 50
FEWEST_FITS = 40
# of the records that targets, with their clusters, may be: the others must outweigh them in every fit
LARGEST_SHARE = 1 / 8
MOST_FAILED = 0.1
# what "in" is compared with; the first one played is judged
GAMES = {"given_kept": State.SWAPPED, "membership": State.OUT}


class Refit(Protocol):
    """Fits the configured method to some records and makes copies from them."""

    def __call__(self, rows: Codes, donors: Codes, *, rng: np.random.Generator) -> Sequence[pd.DataFrame]:
        """Return the copies of a file whose row r has the kept columns of one record and the replaced ones of another.

        Parameters
        ----------
        rows
            Which record gives the kept columns of each row.
        donors
            Which gives the replaced ones: the same, but for targets that are swapped.
        """
        ...

    def lawful(self, rows: Codes, donors: Codes) -> Booleans:
        """Return which of these pairs make a record that the method would accept."""
        ...


@dataclass(frozen=True, repr=False)
class ShadowRisk:
    """What came of the game.

    Parameters
    ----------
    found
        The section ``membership_shadow`` of ``metrics.json``; no record can be told from it.
    targets, individual
        Which records were played for, and the AUC of the worst score for each of them: confidential.
    """

    found: dict[str, Any]
    targets: Codes
    individual: Floats

    def __repr__(self) -> str:
        return f"ShadowRisk({len(self.targets)} targets)"

    def section(self) -> dict[str, Any]:
        """Return what ``metrics.json`` says."""
        return self.found


def evaluate_shadow(
    comparison: Comparison,
    refit: Refit,
    *,
    rng: np.random.Generator,
    fits: int = FITS,
    targets: int = TARGETS,
    others: Others = "half",
    jobs: int = 1,
    advance: Advance | None = None,
) -> ShadowRisk:
    """Play the membership game for the most vulnerable records.

    The intruder knows a target's whole record, the method and its settings, and holds a sample of the same population
    (here: the original itself) on which to fit the method as often as they please, with and without the target. From
    these shadow fits they learn what the copies look like when the target is in, and then say of copies they have not
    seen whether it is. With ``others="half"`` every fit gets a random half of the records, so they do not know who
    else is in; each target is in with probability 1/2, independently, and one fit serves all targets (as in Carlini
    et al. 2022). With ``others="all"`` they know everybody else, and a fit serves one target: the strongest intruder,
    for few targets.

    Where columns are kept two games are played on the same fits. ``membership``: is the target's row there? A rare
    kept value, released as it is, answers that whatever the method does; ``exposure`` counts who is alone on kept
    columns. ``given_kept``, which is judged: the row is there with its kept values in any case; are its replaced
    values the target's own, or those of a record that is like it on the kept columns? That is what the method itself
    gives away. Where nothing is kept there is only ``membership``.

    Parameters
    ----------
    comparison
        Its original and schema are used; copies are made anew.
    refit
        Fits the method and makes copies (see ``synthdp.stages.draws``). With ``jobs`` it is sent to other
        processes.
    fits, targets
        How many of each; fewer targets where they would be more than an eighth of the records.
    jobs
        Processes. The result does not depend on their number.
    advance
        Told how many of the fits are done.

    Returns
    -------
    ShadowRisk
        ``auc`` (mean over targets, 0.5 is a coin), ``low`` and ``high`` of the worst ``score``; ``advantage`` (true
        less false positive rate of its best rule) with its interval; ``tpr`` at false positive rates of 1% and 5%;
        ``worst_target``; ``scores``: the same of every score and game, each interval for itself. ``influence`` is the
        AUC that a record's ordinary weight in means, spreads, correlations and shares explains in a file of this size
        (see :mod:`~synthdp.evaluation.risk.shadow.influence`), ``finding`` what follows: ``none`` (the interval reaches
        0.5), ``influence`` (it lies above 0.5, not above that) or ``memorised`` (above both).

    Raises
    ------
    InputError
        With fewer than 40 fits, or a file too small to play.
    Unfinished
        When more than a tenth of the fits fail.

    Notes
    -----
    Scores: see :class:`~synthdp.evaluation.risk.shadow.scores.Sheet`; ``queries`` and ``statistics`` are learnt for
    each target by a ridge discriminant from the first half of the fits. The worst score is chosen on that half too (the
    learnt ones cross-fitted in it), and everything that is reported is of the other half, so no choice flatters it.
    Baseline: a method that does not look at the target has an AUC of 0.5 within the interval. A model fitted to few
    records is truly moved by one of them, and the game notices: an outlier of z sd moves the variance of h normal
    values by (z² − 1)/√(2h) standard errors; figures by file size are in reports/shadow. Shadows have half as many
    records as the release, so memory of single records comes out rather too large. Cost: the fits, and for each of
    them O(targets · rows) to mark it; linear in n but for the choice of targets.

    References
    ----------
    Stadler, Oprisanu and Troncoso (2022), USENIX Security, 1451-1468. Carlini et al. (2022), IEEE S&P, 1897-1914.
    Houssiau et al. (2022), arXiv:2211.06550. Meeus et al. (2023), arXiv:2306.10308. Synth-MIA (2025),
    arXiv:2509.18014 (no attack dominates, hence several).
    """
    columns = [column for column in comparison.schema.columns if column.design != "cluster"]
    frame = comparison.original.reset_index(drop=True)
    if fits < FEWEST_FITS:
        raise InputError(
            f"membership_shadow: needs at least {FEWEST_FITS} fits to learn from, found {fits}; ask for more."
        )
    chosen, tied, sampled = _chosen(comparison, frame, columns, targets, rng)
    kept = [column for column in columns if column.role is Role.KEEP]
    donors = None
    if kept:
        donors = stand_ins(frame, kept, chosen, tied, refit.lawful, rng=rng)
        playable = [place for place, found in enumerate(donors) if len(found)]
        if not playable:
            raise InputError(
                "membership_shadow: no record could stand in for a target; drop constraints, or keep less."
            )
        chosen, tied, donors = chosen[playable], [tied[p] for p in playable], [donors[p] for p in playable]
    sheet = Sheet.of(Coder.of(frame, columns), frame, chosen, rng=rng)
    deck = Deck(len(frame), tied, donors, others)
    turns = list(enumerate(rng.spawn(fits)))
    played = list(each(partial(_fit, deck, sheet, refit), turns, jobs=jobs, advance=advance, processes=True))
    failed = sum(marks is None for _, marks in played)
    if failed > MOST_FAILED * fits:
        raise Unfinished(
            f"membership_shadow: {failed} of {fits} shadow fits failed; the method cannot work on halves of this file."
        )
    states = np.stack([state for state, marks in played if marks is not None])
    found, individual = _judge(states, [m for _, m in played if m is not None], sheet.names, bool(kept), rng)
    influence = ordinary_influence(
        frame,
        columns,
        chosen,
        rows=deck.size,
        copies=max(m.copies for _, m in played if m is not None),
        known=others == "all",
    )
    explained = float(influence.mean())
    section = {**found, "influence": explained, "finding": finding(found["low"], explained), "targets": len(chosen)}
    section |= {"fits": len(states), "failed": failed, "rows": deck.size, "others": others, "sampled": sampled}
    return ShadowRisk(section, chosen, individual)


def _chosen(
    comparison: Comparison, frame: pd.DataFrame, columns: Sequence[Column], most: int, rng: np.random.Generator
) -> tuple[Codes, list[Codes], bool]:
    """Return the targets, who is in or out with each of them, and whether not everybody was looked at."""
    room = int(LARGEST_SHARE * len(frame))
    if room < 1 or most < 1:
        raise InputError(f"membership_shadow: needs 8 records or more and a target, found {len(frame)} and {most}.")
    cluster = clusters(comparison)
    found, sampled = vulnerable(frame, columns, most=min(most, room), cluster=cluster, rng=rng)
    tied: list[Codes] = []
    for target in found:
        mates = np.empty(0, dtype=np.int64)
        if cluster is not None and cluster[target] >= 0:
            mates = np.flatnonzero(cluster == cluster[target])
        tied.append(np.concatenate([[target], mates[mates != target]]).astype(np.int64))
    fits_in = np.cumsum([len(one) for one in tied]) <= room
    if not fits_in.any():
        raise InputError(
            "membership_shadow: one cluster has more than an eighth of the records; play without clusters."
        )
    return found[fits_in], [one for one, fits in zip(tied, fits_in, strict=True) if fits], sampled


def _fit(deck: Deck, sheet: Sheet, refit: Refit, turn: tuple[int, np.random.Generator]) -> tuple[States, Marks | None]:
    """Return the states of the targets in one fit, and what its copies say; None where it failed."""
    number, rng = turn
    hand = deck.deal(number, rng=rng)
    try:
        copies = refit(hand.rows, hand.donors, rng=rng)
    except (InputError, Unfinished):
        return hand.states, None
    if not len(copies) or any(len(copy) == 0 for copy in copies):
        raise InputError("membership_shadow: every shadow fit must give copies with rows, found one that does not.")
    require_columns(copies, sheet.coder.columns, "membership_shadow")
    return hand.states, sheet.mark(copies, hand.reference)


def _judge(
    states: States, marks: Sequence[Marks], names: Sequence[str], kept: bool, rng: np.random.Generator
) -> tuple[dict[str, Any], Floats]:
    """Return what is said of all games, the judged one first, and the AUC of every target."""
    games = [name for name in GAMES if kept or name == "membership"]
    inside = states == State.IN
    trials = {game: Trial.of(marks, names, Rounds(inside, inside | (states == GAMES[game]))) for game in games}
    lines = [{"game": game, **line} for game, trial in trials.items() for line in trial.lines()]
    worst, individual = trials[games[0]].worst(rng=rng)
    return {"game": games[0], **worst, "scores": lines}, individual
