"""Risk groups and the copula: one λ for all, λ per group, graded λ, at the same mean overlap on the pseudo registry.

Every strategy has one dial t, set by bisection so that the overlaps of both analyses, averaged, are the same; then the
risks can be compared. Beside them: how far Age moves in each group, and what happens when the association model does
not know the groups that the masks depend on.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synthdp.imputation import predictors
from synthdp.imputation.copula.model import CopulaPosterior
from synthdp.imputation.protocol import Task
from synthdp.masking.gaussian import Gaussian
from synthdp.masking.protocol import MaskSettings
from synthdp.masking.shifted_normal import ShiftedNormal
from synthdp.microdata import Floats, Microdata
from synthdp.neighbours import encode_keys, match
from synthdp.seeding import Streams
from synthdp.studies import figures
from synthdp.studies.copula_fitting import FittedOnce
from synthdp.studies.copula_groups_page import page
from synthdp.studies.estimators import design, probit
from synthdp.studies.registry import OTHERS, REPLACED, RIDGE, UNSEEN, overlaps, patients, risks
from synthdp.studies.runner import save, shared_data
from synthdp.synthesis.imputed import DaMi
from synthdp.synthesis.protocol import Plan
from synthdp.tagging.groups import Neighbours, Rules, Tags, tag

AGE = "Age_raw"
TARGET = 0.96
ALPHA = 1.5  # α = 1.5 / sd: the pairs of the registry study, roughly
GROWS = {"low": 1.0, "medium": 2.0, "high": 4.0}
TYPICAL, FEWEST = 30.0, 8
COPIES, SEEDS = 5, 20
WEAKEST, STRONGEST, HALVINGS = 0.1, 1.6, 8
OLD, OLD_SD, YOUNG_SD = 65, 2.0, 0.2
Masks = tuple[dict[str, MaskSettings], dict[str, dict[str, MaskSettings]]]


class Blind(FittedOnce):
    """The copula without the risk groups."""

    def fit(self, task: Task, *, rng: np.random.Generator) -> CopulaPosterior:
        """Fit as if all masks were the same."""
        return super().fit(replace(task, predictors=predictors.build(task.data, exclude=self.exclude)), rng=rng)


@dataclass(frozen=True)
class Strategy:
    """How λ is spread over the records.

    Parameters
    ----------
    name
        What it is called.
    age
        Whose λ of Age differs: nobody's, by group, or by the number of neighbours.
    levels
        Whether α of the other columns differs by group too.
    """

    name: str
    age: str = "one"
    levels: bool = False

    def masks(self, t: float) -> Masks:
        """Return the masks, and those by group, at strength t."""
        graded = {"graded": TYPICAL, "fewest": FEWEST} if self.age == "graded" else {}
        everyone: dict[str, MaskSettings] = {AGE: Gaussian(sd=t, **graded)} | _levels(t)
        by_group: dict[str, dict[str, MaskSettings]] = {}
        if self.age == "group":
            for group, factor in GROWS.items():
                by_group[group] = {AGE: Gaussian(sd=t * factor)} | (_levels(t * factor) if self.levels else {})
        return everyone, by_group


STRATEGIES = (
    Strategy("one λ for all"),
    Strategy("λ of Age per group", age="group"),
    Strategy("λ of all four per group", age="group", levels=True),
    Strategy("graded λ of Age", age="graded"),
)


def _levels(sd: float) -> dict[str, MaskSettings]:
    return {name: ShiftedNormal(alpha=ALPHA / sd) for name in REPLACED if name != AGE}


def copies_of(plan: Plan, model: FittedOnce, seed: int) -> tuple[pd.DataFrame, ...]:
    """Return the copies of one seed, W per copy."""
    return DaMi(model=model, copies=COPIES).synthesize(plan, streams=Streams(seed)).copies


def evaluate(people: Microdata, tags: Tags, masks: Masks, model: FittedOnce, seeds: range) -> dict[str, Any]:
    """Return overlaps, risks, risks by group and distances of Age, means over seeds."""
    rows, moved = [], []
    for seed in seeds:
        frames = copies_of(Plan(people, tags, *masks), model, seed)
        both = overlaps(people, frames)
        rows.append(both | risks(people, frames) | expected_by_group(people, tags, frames))
        moved.append(np.asarray([frame[AGE] - people.frame[AGE] for frame in frames]))
    found = pd.DataFrame(rows)
    overlap = found[["work_mean", "ild_mean"]].mean(axis=1)
    return {
        "overlap": float(overlap.mean()),
        "overlap_error": float(overlap.std() / np.sqrt(len(found))),
        **{str(name): float(value) for name, value in found.mean().items()},
        "moved": distances(np.concatenate(moved), tags),
    }


def expected_by_group(people: Microdata, tags: Tags, frames: tuple[pd.DataFrame, ...]) -> dict[str, float]:
    """Return the mean chance of being found in the copies (tolerance 3) by group."""
    targets, *encoded = encode_keys([people.frame, *frames], list(people.schema.keys()))
    matches = match(targets, encoded)
    chance = matches.hit / np.maximum(matches.best, 1)
    labels = tags.labels.to_numpy(dtype=object)
    return {f"found_{group}": float(chance[labels == group].mean()) for group in GROWS}


def distances(moved: Floats, tags: Tags) -> dict[str, dict[str, float]]:
    """Return quantiles of how far Age moves, in years, by group."""
    labels = tags.labels.to_numpy(dtype=object)
    found = {}
    for group in GROWS:
        years = moved[:, labels == group].ravel()
        points = np.quantile(years, (0.025, 0.25, 0.5, 0.75, 0.975))
        found[group] = {
            name: round(float(v), 2) for name, v in zip(("p2", "p25", "p50", "p75", "p97"), points, strict=True)
        }
        found[group]["mean_distance"] = round(float(np.abs(years).mean()), 2)
    return found


def calibrated(people: Microdata, tags: Tags, strategy: Strategy, model: FittedOnce, seeds: range) -> float:
    """Return t at which the mean overlap is the target, by bisection with the same seeds throughout."""
    low, high = WEAKEST, STRONGEST
    for _ in range(HALVINGS):
        middle = float(np.sqrt(low * high))
        plan = Plan(people, tags, *strategy.masks(middle))
        both = [overlaps(people, copies_of(plan, model, seed)) for seed in seeds]
        overlap = np.mean([[of["work_mean"], of["ild_mean"]] for of in both])
        low, high = (middle, high) if overlap > TARGET else (low, middle)
    return float(np.sqrt(low * high))


def left_out(
    people: Microdata, tags: Tags, masks: Masks, models: Mapping[str, FittedOnce], seeds: range
) -> dict[str, Any]:
    """Return the bias of the copies with and without H in the model, in standard errors of the original."""
    plan = Plan(people, tags, *masks)
    return {
        name: bias(people, [f for seed in seeds for f in copies_of(plan, model, seed)])
        for name, model in models.items()
    }


def bias(people: Microdata, frames: list[pd.DataFrame]) -> dict[str, float]:
    """Return how far mean, sd and probit coefficient of Age in the copies are from the original, in standard errors."""
    age = people.frame[AGE]
    n, sd = len(age), float(age.std())
    terms = ("Intercept", *REPLACED, *OTHERS)

    def coefficient(frame: pd.DataFrame) -> tuple[float, float]:
        outcome = frame["WorkDisabled"].to_numpy(np.float64)
        fitted = probit(outcome, design(frame, *terms[1:]), terms, ridge=RIDGE)
        at = terms.index(AGE)
        return float(fitted.values[at]), float(np.sqrt(fitted.covariance[at, at]))

    own, se = coefficient(people.frame)
    means = np.asarray([(frame[AGE].mean() - age.mean()) / (sd / np.sqrt(n)) for frame in frames])
    spreads = np.asarray([(frame[AGE].std() - sd) / (sd / np.sqrt(2 * n)) for frame in frames])
    slopes = np.asarray([(coefficient(frame)[0] - own) / se for frame in frames])
    found = {}
    for name, values in (("mean", means), ("sd", spreads), ("coefficient", slopes)):
        found[name] = round(float(values.mean()), 3)
        found[f"{name}_error"] = round(float(values.std() / np.sqrt(len(values))), 3)
    return found


def run(*, out: Path, replications: int = SEEDS, jobs: int = 2, data: Path | None = None) -> dict[str, Any]:
    """Run the study and write its results; ``replications`` is the number of seeds. One process: a few minutes."""
    began = time.perf_counter()
    data = shared_data(data)
    people = patients(data)
    tags = tag(people, Neighbours())
    seeds = range(replications)
    knowing, blind = FittedOnce(exclude=UNSEEN), Blind(exclude=UNSEEN)
    rows, biases = [], []
    for strategy in STRATEGIES:
        t = calibrated(people, tags, strategy, knowing, seeds)
        masks = strategy.masks(t)
        rows.append({"strategy": strategy.name, "t": round(t, 4), **evaluate(people, tags, masks, knowing, seeds)})
        if strategy.age != "one":
            found = left_out(people, tags, masks, {"with H": knowing, "without H": blind}, seeds)
            biases.append({"strategy": strategy.name, **found})
    old = tag(people, Rules(rules={"high": f"{AGE} > {OLD}"}))
    strong: Masks = ({AGE: Gaussian(sd=YOUNG_SD)} | _levels(0.5), {"high": {AGE: Gaussian(sd=OLD_SD)}})
    found = left_out(people, old, strong, {"with H": knowing, "without H": blind}, seeds)
    biases.append({"strategy": f"sd {OLD_SD:g} above {OLD} years, {YOUNG_SD:g} below", **found})
    results: dict[str, Any] = {
        "rows": [{k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()} for row in rows],
        "bias": biases,
        "original": {key: round(value, 4) for key, value in risks(people, (people.frame,)).items()},
        "groups": {str(k): int(v) for k, v in tags.labels.value_counts(sort=False).items()},
    }
    settings = {"records": len(people), "seeds": replications, "copies": COPIES, "target": TARGET}
    save(out, study="copula_groups", settings=settings, results=results, page=page(results, settings), began=began)
    figures.moves(results["rows"], results["groups"], out / "age_moves.svg")
    return results
