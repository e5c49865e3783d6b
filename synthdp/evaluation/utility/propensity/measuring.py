"""The propensity sections of metrics.json: every model against every copy, for all records and for each subgroup."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from synthdp.budget import go_on
from synthdp.evaluation.comparison import Comparison, summarise
from synthdp.evaluation.utility.distances import Grouping, risk_groups
from synthdp.evaluation.utility.propensity import nulls
from synthdp.evaluation.utility.propensity.cart import Cart
from synthdp.evaluation.utility.propensity.classifiers import Boosting, Logit, TooManyTermsError
from synthdp.evaluation.utility.propensity.nulls import Classifier, Model, Null, NullKind, Propensity, Scores, histogram
from synthdp.evaluation.utility.propensity.stacking import Encoded, Stack, binned, halves, kept_columns
from synthdp.table.microdata import Codes
from synthdp.table.schema import Schema

# fewer records than this say little of a subgroup
FEWEST = 20
MOST_LEVELS = 50
MOST_LISTED = 30


def groupings(comparison: Comparison, original: Encoded, copies: Sequence[Encoded]) -> list[Grouping]:
    """Return the risk groups, where rows can be traced, and the levels of the columns that have at most 50."""
    tagged = risk_groups(comparison, fewest=1)
    found = [] if tagged is None else [tagged]
    for number, column in enumerate(comparison.schema.columns):
        if column.kind.categorical and 1 < len(column.levels) <= MOST_LEVELS:
            files = tuple(np.asarray(file.columns[number], dtype=np.int64) for file in (original, *copies))
            found.append(Grouping(column.name, tuple(str(level) for level in column.levels), files))
    return found


def by_subgroup(
    groupings: Sequence[Grouping], scores: Sequence[Scores], nulls: Sequence[Null | None]
) -> list[dict[str, Any]]:
    """Return the subgroups with at least 20 original records, the worst-served first.

    ``value`` is the mean (p̂ − c)² over the subgroup's records in both files, ``share`` its part of the sum over all
    records, ``ratio`` the value over what a right synthesis gives in this very subgroup (small subgroups vary more
    and have a larger null), each the mean over copies. ``synthetic`` is the mean number of synthetic records.

    Notes
    -----
    Cost O(N) per grouping and copy. A main-effects regression sees a subgroup through its own level only; the tree
    also sees what is wrong inside it.
    """
    squares = [score.squares for score in scores]
    entries: list[dict[str, Any]] = []
    for grouping in groupings:
        parts = [
            _parts(np.concatenate([grouping.files[0], codes]), square, null, len(grouping.labels))
            for codes, square, null in zip(grouping.files[1:], squares, nulls, strict=True)
        ]
        sizes = _counts(grouping.files[0], len(grouping.labels))
        made = np.mean([_counts(codes, len(grouping.labels)) for codes in grouping.files[1:]], axis=0)
        values, shares, ratios = (np.mean([part[i] for part in parts], axis=0) for i in range(3))
        for k, label in enumerate(grouping.labels):
            if sizes[k] >= FEWEST:
                entry = {"by": grouping.by, "level": label, "original": int(sizes[k]), "synthetic": float(made[k])}
                entry |= {"value": float(values[k]), "share": float(shares[k])}
                entries.append(entry | {"ratio": float(ratios[k]) if np.isfinite(ratios[k]) else None})
    entries.sort(key=lambda entry: (entry["ratio"] is None, -(entry["ratio"] or 0.0), -entry["value"]))
    return entries[:MOST_LISTED]


def _counts(codes: Codes, groups: int) -> Codes:
    inside = codes[(codes >= 0) & (codes < groups)]
    return np.asarray(np.bincount(inside, minlength=groups), dtype=np.int64)


def _parts(codes: Codes, squares: Any, null: Null | None, groups: int) -> tuple[Any, Any, Any]:
    inside = (codes >= 0) & (codes < groups)
    sizes = np.maximum(np.bincount(codes[inside], minlength=groups), 1)
    sums = np.bincount(codes[inside], squares[inside], minlength=groups)
    whole = squares.sum()
    ratio = np.full(groups, np.nan)
    if null is not None and null.per_record is not None:
        expected = np.bincount(codes[inside], null.per_record[inside], minlength=groups)
        np.divide(sums, expected, out=ratio, where=expected > 0)
    return sums / sizes, sums / whole if whole > 0 else np.zeros(groups), ratio


Make = Callable[[Stack, np.random.Generator], Classifier]

MODELS: dict[Model, Make] = {
    "logit": lambda stack, rng: Logit(stack),
    "logit_interactions": lambda stack, rng: Logit(stack, interactions=True),
    "cart": lambda stack, rng: Cart.of(stack),
    "boosting": Boosting.of,
}
SPLITS = 4
FEWEST_TO_SPLIT = 4
MOST_PAIRS = 10
# over all copies, whose nulls are pooled: the mean is then known to some 3%
PERMUTATIONS = 50
FEWEST_PERMUTATIONS = 2
# records x columns x exchanges of labels over all copies: about ten seconds of trees
BUDGET = 5e7


@dataclass(frozen=True, repr=False)
class Files:
    """The files of a comparison as numbers, and what is known of how the copies came about."""

    original: Encoded
    copies: tuple[Encoded, ...]
    paired: bool
    partial: bool
    proper: bool
    groupings: tuple[Grouping, ...]

    def stack(self, copy: Encoded) -> Stack:
        """Return the original and one copy."""
        return Stack(self.original, copy, self.paired)

    def permutations(self, settings: Propensity, name: Model) -> int:
        """Return how often labels are exchanged per copy."""
        if settings.permutations is not None:
            return settings.permutations
        if name == "boosting":
            return FEWEST_PERMUTATIONS
        cells = sum(len(self.original) + len(copy) for copy in self.copies) * len(self.original.columns)
        return max(FEWEST_PERMUTATIONS, min(int(BUDGET / cells), -(-PERMUTATIONS // len(self.copies))))


def evaluate_propensity(
    comparison: Comparison, settings: Propensity | None = None, *, rng: np.random.Generator
) -> dict[str, Any]:
    """Return the ``pmse``, ``specks`` and ``po50`` sections of metrics.json.

    Each model has its pMSE (``value``, ``low``, ``high``, ``per_copy``), what a right synthesis gives (``null``, of
    which kind, and for which ``design``), ``ratio`` and ``standardised`` against it, ``noise_floor``, SPECKS and PO50,
    ``per_group`` and a ``histogram``. The noise floor is what two random halves of the original give; they are half as
    large as the files that are compared, so a pMSE is then about twice what two whole samples would give. The
    sections ``specks`` and ``po50`` beside ``pmse`` are those of the first model.

    Notes
    -----
    Cost: per model a fit for each copy and four of half the size, plus the exchanges of labels where the null has no
    formula; see the models.
    """
    settings = settings or Propensity()
    files = _files(comparison, settings)
    # a stream per model whichever are asked for, so that one more changes no other
    streams = dict(zip(MODELS, rng.spawn(len(MODELS)), strict=True))
    found = {name: _model(name, files, settings, rng=streams[name]) for name in dict.fromkeys(settings.models)}
    measured = next((section for section in found.values() if "specks" in section), {})
    return {"pmse": found, **{name: measured[name] for name in ("specks", "po50") if name in measured}}


def propensity(original: pd.DataFrame, synthetic: pd.DataFrame, schema: Schema) -> Scores:
    """Return the propensity scores of one copy against the original, by logistic regression on the main effects."""
    stack = Stack(Encoded.of(original, schema), Encoded.of(synthetic, schema))
    return _scores(Logit(stack), stack)


def _files(comparison: Comparison, settings: Propensity) -> Files:
    original = Encoded.of(comparison.original, comparison.schema)
    copies = tuple(Encoded.of(copy, comparison.schema) for copy in comparison.copies)
    proper = settings.proper if settings.proper is not None else bool(comparison.proper)
    if not {"cart", "boosting"}.isdisjoint(settings.models):
        bins = binned([original, *copies])
        original, *others = (replace(file, bins=b) for file, b in zip((original, *copies), bins, strict=True))
        copies = tuple(others)
    partial = bool(kept_columns(original, copies, aligned=comparison.aligned))
    groups = tuple(groupings(comparison, original, copies))
    return Files(original, copies, comparison.aligned, partial, proper, groups)


def _scores(model: Classifier, stack: Stack) -> Scores:
    return Scores.of(stack, model.scores(stack.label), model.slopes if isinstance(model, Logit) else 0)


def _model(name: Model, files: Files, settings: Propensity, *, rng: np.random.Generator) -> dict[str, Any]:
    kind, reason = nulls.choose(
        settings.null,
        logit=name.startswith("logit"),
        paired=files.paired,
        partial=files.partial,
        proper=files.proper,
        copies=len(files.copies),
    )
    times = files.permutations(settings, name)
    scores, simulated = [], []
    try:
        for copy in files.copies:
            go_on()
            # one design at a time is in memory
            model = MODELS[name](files.stack(copy), rng)
            scores.append(_scores(model, model.stack))
            simulated.append(_null(model, kind, files, times, rng))
        floor = _floor(name, files, rng)
        if kind == "pairs":
            simulated = _pairs(name, files, rng)
    except TooManyTermsError as error:
        return {"reason": f"{error}; leave it out of evaluation.propensity.models, or judge fewer columns"}
    expected = nulls.pool(simulated)
    section = _section(scores, floor, lambda score: score.pmse)
    return {
        "value": section["value"],
        **_against(section["per_copy"], expected, kind, reason, files),
        **section,
        "specks": _section(scores, floor, lambda score: score.specks),
        "po50": _section(scores, floor, lambda score: score.po50),
        "per_group": by_subgroup(files.groupings, scores, expected),
        "histogram": histogram(scores),
    }


def _null(model: Classifier, kind: NullKind | None, files: Files, times: int, rng: np.random.Generator) -> Null | None:
    if kind is None or kind == "pairs":
        return None
    swap = kind == "within_record"
    if isinstance(model, Logit) and kind in ("formula", "within_record"):
        return model.within_record(proper=files.proper) if swap else model.formula(proper=files.proper)
    return nulls.relabelled(model, kind=kind, proper=files.proper, times=times, rng=rng)


def _pairs(name: Model, files: Files, rng: np.random.Generator) -> list[Null | None]:
    """Return the null that copies judged against each other give, for every copy."""
    m = len(files.copies)
    pairs = [(i, j) for i in range(m) for j in range(i + 1, m)][:MOST_PAIRS]
    values = []
    for i, j in pairs:
        go_on()
        stack = Stack(files.copies[i], files.copies[j], files.paired)
        values.append(_scores(MODELS[name](stack, rng), stack).pmse)
    return [nulls.between(values, files.stack(copy)) for copy in files.copies]


def _floor(name: Model, files: Files, rng: np.random.Generator) -> list[Scores]:
    """Return the scores that tell two random halves of the original apart, for several splits."""
    if len(files.original) < FEWEST_TO_SPLIT:
        return []
    stacks = (halves(files.original, rng=rng) for _ in range(SPLITS))
    return [_scores(MODELS[name](stack, rng), stack) for stack in stacks]


def _against(
    values: Sequence[float], expected: Sequence[Null | None], kind: NullKind | None, reason: str, files: Files
) -> dict[str, Any]:
    pairs = [(value, null) for value, null in zip(values, expected, strict=True) if null is not None]
    ratios = [null.ratio(value) for value, null in pairs]
    standardised = [z for value, null in pairs if (z := null.standardised(value)) is not None]
    design = f"{'partial' if files.partial else 'full'}, {'proper' if files.proper else 'plug-in'}"
    return {
        "ratio": float(np.mean(ratios)) if ratios else None,
        "standardised": float(np.mean(standardised)) if standardised else None,
        "null": float(np.mean([null.expected for _, null in pairs])) if pairs else None,
        "null_kind": kind,
        "design": design,
        **({"reason": reason} if reason else {}),
    }


def _section(scores: Sequence[Scores], floor: Sequence[Scores], measure: Callable[[Scores], float]) -> dict[str, Any]:
    found = summarise([measure(score) for score in scores], [measure(score) for score in floor])
    return {("noise_floor" if name == "noise" else name): value for name, value in found.items()}
