"""Risk groups and the copula: one λ for all, λ per group, graded λ, at the same mean overlap on the pseudo registry.

Every strategy has one dial t, set by bisection so that the overlaps of both analyses, averaged, are the same; then the
risks can be compared. Beside them: how far Age moves in each group, and what happens when the association model does
not know the groups that the masks depend on.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reports import figures
from reports.cells import Cell
from reports.copulas import FittedOnce
from reports.estimators import design, probit
from reports.markdown import table, table_of
from reports.registry.study import OTHERS, REPLACED, RIDGE, RISKS, UNSEEN, overlaps, patients, risks, rounded
from reports.study import Results, Study
from synthdp.imputation import predictors
from synthdp.imputation.copula.model import CopulaPosterior
from synthdp.imputation.model import Task
from synthdp.masking.categorical import ShiftedNormal
from synthdp.masking.gaussian import Gaussian
from synthdp.masking.mask import MaskSettings
from synthdp.seeding import Streams
from synthdp.synthesis.imputed import DaMi
from synthdp.synthesis.plan import Plan
from synthdp.table.microdata import Floats, Microdata
from synthdp.tagging.groups import Neighbours, Rules, Tags, tag
from synthdp.tagging.neighbours import encode_keys, match

KEYS = ("mean", "sd", "coefficient")
OVERLAPS = tuple(f"{name}:.3f" for name in ("work_mean", "ild_mean", "work_lowest", "ild_lowest"))
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


def page(results: Results, settings: Results) -> str:
    """Return the study as Markdown."""
    rows, original, groups = results["rows"], results["original"], results["groups"]
    useful = table_of(
        rows,
        ("strategy", "t:.3f", "{overlap:.3f} ± {overlap_error:.3f}", *OVERLAPS),
        ("strategy", "t", "mean overlap", "work", "ILD", "lowest of work", "lowest of ILD"),
    )
    found = table_of(
        rows, ("strategy", *RISKS, *(f"found_{group}:.3f" for group in groups)), ("strategy", *RISKS.values(), *groups)
    )
    distance = [f"{{moved[{group}][mean_distance]:.1f}}" for group in groups]
    moved = table_of(rows, ("strategy", *distance), ("strategy", *groups))
    biased = table(
        ("masks", "model", "mean", "sd", "coefficient of Age"),
        [
            (row["strategy"], model, *(f"{row[model][k]:+.2f} ± {row[model][f'{k}_error']:.2f}" for k in KEYS))
            for row in results["bias"]
            for model in ("with H", "without H")
        ],
    )
    sizes = ", ".join(f"{count} {group}" for group, count in groups.items())
    return f"""# Risk groups with the copula

The pseudo registry, {settings["records"]} complete records; Age, sex, race and education replaced by `da_mi` with
`model: copula`, M = {settings["copies"]}, W per copy; means over {settings["seeds"]} seeds. Risk groups by neighbours
(k = 5): {sizes}. Every strategy has one dial t, the sd of Age's mask in units of its own sd; α of the other three is
1.5/sd. Per group, sd is t, 2t, 4t for low, medium, high; graded, t·√(30/s) with s ≥ 8 neighbours. t was set by
bisection so that the mean overlap of both analyses (work disability, lung disease; lung disease is never seen by the
model) is {settings["target"]}. Regenerate: `python -m reports copula_groups --data FOLDER`.

{useful}

## Risks at that overlap

Expected / true matches; the last columns are the mean chance of being found in the copies (tolerance 3) by group.
Original against itself: {original["copies_expected_3"]:.1f} / {original["copies_true_3"]} at tolerance 3,
{original["copies_expected_5"]:.1f} / {original["copies_true_5"]} at 5.

{found}

## How far Age moves

![synthetic minus true Age by strategy and risk group](age_moves.svg)

Boxes: quartiles and 2.5% to 97.5% of synthetic minus true Age. Mean distance in years:

{moved}

## When the model does not know the groups

The masks depend on the group, the group depends on X: then p(x | z) is not p(x | z, h). Bias of mean, sd and probit
coefficient of Age (work disability) in the copies, in standard errors of the original, with Monte Carlo error. "With H"
lets group (or number of neighbours) move the latents' means; it does not give a group a spread of its own.

{biased}
"""


RULE = f"sd {OLD_SD:g} above {OLD} years, {YOUNG_SD:g} below"


def cells(seeds: int | None) -> Iterator[Cell]:
    """Yield the original, every strategy, and masks that differ by a rule on age."""
    for name in (None, *(strategy.name for strategy in STRATEGIES), RULE):
        yield {"name": name, "seeds": seeds or SEEDS}


def one_cell(name: str | None, seeds: int, *, data: Path) -> Results:
    """Return a strategy's overlap, risks and distances at the target, and the bias with and without H in the model."""
    people = patients(data)
    tags = tag(people, Neighbours())
    if name is None:
        groups = {str(k): int(v) for k, v in tags.labels.value_counts(sort=False).items()}
        return {"records": len(people), "groups": groups, "original": rounded(risks(people, (people.frame,)))}
    knowing, blind = FittedOnce(exclude=UNSEEN), Blind(exclude=UNSEEN)
    models = {"with H": knowing, "without H": blind}
    if name == RULE:
        old = tag(people, Rules(rules={"high": f"{AGE} > {OLD}"}))
        strong: Masks = ({AGE: Gaussian(sd=YOUNG_SD)} | _levels(0.5), {"high": {AGE: Gaussian(sd=OLD_SD)}})
        return {"bias": {"strategy": name, **left_out(people, old, strong, models, range(seeds))}}
    strategy = next(strategy for strategy in STRATEGIES if strategy.name == name)
    t = calibrated(people, tags, strategy, knowing, range(seeds))
    masks = strategy.masks(t)
    row = {"strategy": name, "t": t, **evaluate(people, tags, masks, knowing, range(seeds))}
    biased = strategy.age != "one"
    bias = {"strategy": name, **left_out(people, tags, masks, models, range(seeds))} if biased else None
    return {"row": rounded(row), "bias": bias}


STUDY = Study(
    name="copula_groups",
    cells=cells,
    work=one_cell,
    results=lambda lines: {
        "rows": [line["row"] for line in lines if "row" in line],
        "bias": [line["bias"] for line in lines if line.get("bias")],
        **{name: lines[0][name] for name in ("original", "groups")},
    },
    page=page,
    settings={"copies": COPIES, "target": TARGET},
    counts=lambda lines: {name: lines[0][name] for name in ("records", "seeds")},
    draw=lambda results, out: figures.moves(results["rows"], results["groups"], out / "age_moves.svg"),
    reads_data=True,
)
