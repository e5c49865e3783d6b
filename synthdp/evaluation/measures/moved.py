"""The measures that are made for maskings: how far numbers moved, what a level shown says, who is shown nearby."""

from collections.abc import Mapping
from typing import Any

from synthdp.evaluation.blocks import DASH, Block, Table, entries, find, is_number, number, percent
from synthdp.evaluation.measure import Figures, Need, Plain
from synthdp.evaluation.risk.shown import evaluate_group_size, evaluate_odds
from synthdp.evaluation.utility.moves import evaluate_moves


def _moves_block(section: Any) -> Block | None:
    """Return how far every number was moved."""
    rows = tuple(
        (
            str(line.get("column", "")),
            *(number(find(line, key, "value")) for key in ("bias", "mse", "rmse")),
            percent(find(line, "share", "value")),
        )
        for line in entries(section)
    )
    words = (
        "Each number of a copy is set against the number of the record it was made from: the original less the copy. A "
        "masking that moves little keeps analyses near, and tells as much; moves of copies that are drawn from a model "
        "are large by design."
    )
    head = ("Column", "Bias (mean)", "Mean square", "Root mean square", "… of the column's sd")
    return (
        Block("How far numbers moved", words, (), (Table("Moves of numbers", head, rows, "lrrrr"),)) if rows else None
    )


def _odds_block(section: Any) -> Block | None:
    """Return how far a level shown is to be believed."""
    rows = tuple(
        (
            str(line.get("column", "")),
            percent(line.get("prior")),
            percent(line.get("posterior")) if is_number(line.get("posterior")) else "never shown",
            _said(line),
            percent(find(line, "right", "value")),
        )
        for line in entries(section)
    )
    words = (
        "Somebody knows which row is the target's and reads its level there. Of the rows that show the rarest level "
        "of a "
        "column, so many were made from records that have it; odds of 1 are a coin, and large ones give rare people "
        "away."
    )
    head = ("Column", "Rarest level: its share", "Right where it is shown", "Odds", "Levels shown right, all records")
    table = Table("What a level shown says of the record's own", head, rows, "lrrrr")
    return Block("Believing the level shown", words, (), (table,)) if rows else None


def _said(line: Mapping[str, Any]) -> str:
    if is_number(line.get("odds")):
        return number(line["odds"])
    return "certain" if is_number(line.get("posterior")) else DASH


def _group_size_block(section: Any) -> Block | None:
    """Return how many values lie near a true one."""
    lines = [line for line in entries(section) if is_number(line.get("mean"))]
    rows = tuple(
        (
            str(line.get("column", "")),
            number(line.get("radius")),
            number(line.get("mean")),
            number(line.get("least")),
            f"{number(find(line, 'original', 'mean'))}; {number(find(line, 'original', 'least'))}",
            percent({one.get("k"): one.get("rate") for one in entries(line.get("below"))}.get(5)),
        )
        for line in lines
    )
    words = (
        "Somebody knows a number of the target and looks for values near it in a copy: so many are found, on average "
        "and "
        "at the least. Few values near a true one in the original and in the copy mean somebody who stands out."
    )
    head = (
        "Column",
        "Within",
        "Values near, on average",
        "At the least",
        "In the original",
        "Records with fewer than 5",
    )
    return Block("Values near a true one", words, (), (Table("Group sizes", head, rows, "lrrrrr"),)) if rows else None


MOVES = Plain(
    "moves",
    "How far was every replaced number moved from its own record's?",
    lambda files, rng: Figures(evaluate_moves(files)),
    frozenset({Need.ROWS}),
    title="How far numbers moved",
    tells=_moves_block,
)
ODDS = Plain(
    "odds",
    "Is a level that is shown in a person's row that person's own?",
    lambda files, rng: Figures(evaluate_odds(files)),
    frozenset({Need.ROWS}),
    title="Believing the level shown",
    tells=_odds_block,
)
GROUP_SIZE = Plain(
    "group_size",
    "Among how many values of a copy does a person's true number lie?",
    lambda files, rng: Figures(evaluate_group_size(files)),
    title="Values near a true one",
    tells=_group_size_block,
)
