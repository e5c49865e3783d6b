"""Audits of the pipeline on paired files: as it is, and with mistakes planted.

Eighty records, of whom one is an ordinary one in the first file and the highest number of all in the second (for W: the
lowest in the first). The auditor sees what is released of three copies (means, shares, and that record), or W itself.
"""

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from synthdp.privacy.audit.cases import Case, judge
from synthdp.privacy.audit.runs import Sampler
from synthdp.privacy.mechanisms import Simulated, Source
from synthdp.privacy.tradeoff.curves import Gaussian
from synthdp.seeding import Streams
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.private.masked import DpDaMi, method, posterior
from synthdp.synthesis.private.masked.channel import Channel, Masked
from synthdp.synthesis.private.masked.moments import Estimated, Shape
from synthdp.table.microdata import Microdata, resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import Neighbours, tag

EPSILON, DELTA, RECORDS = 1.0, 1e-3, 80
COLUMNS = {
    "x": Variable(role="replace", kind="continuous", bounds=(0, 1), decimals=6),
    "y": Variable(role="replace", kind="continuous", bounds=(0, 1), decimals=6),
    "sex": Variable(role="replace", levels=("F", "M")),
}
MAKER = DpDaMi(epsilon=EPSILON, delta=DELTA, source="simulated", copies=3)


def file_with(number: float, level: str) -> Plan:
    """Return the records, the first of which is as told."""
    x = np.append(number, np.linspace(0.45, 0.55, RECORDS - 1))
    sex = [level, *np.where(np.arange(RECORDS - 1) % 2, "M", "F")]
    data = resolve(pd.DataFrame({"x": x, "y": np.append(1 - number, x[1:]), "sex": sex}), COLUMNS)
    return Plan(data, tag(data, Neighbours()))


LOW, MIDDLE, HIGH = file_with(0.0, "F"), file_with(0.5, "F"), file_with(1.0, "M")


def audited(case: str, runs: int, *, seed: int) -> list[dict[str, Any]]:
    """Return the verdicts of one group of cases."""
    verdicts = judge(CASES[case](), runs=runs, rng=Streams(seed).generator("audit", case))
    return [
        {
            "what": verdict.name,
            "promised": round(verdict.promised, 3),
            "at_least": round(verdict.found.epsilon, 3),
            "runs": 2 * verdict.found.runs,
            "p_adjusted": float(f"{verdict.adjusted:.2g}"),
            "refuted": verdict.broken,
        }
        for verdict in verdicts
    ]


def copies_of(mistake: "Mistake | None" = None) -> Sampler:
    """Return a sampler of the whole pipeline: what is seen of three copies."""

    def sample(data: Any, runs: int, rng: np.random.Generator) -> Any:
        # whether the chain has settled is of no concern to the promise
        with patch.object(posterior, "BURNT", 2), patch.object(posterior, "THINNED", 1), planting(mistake, data):
            return [_seen(data, int(seed)) for seed in rng.integers(2**62, size=runs)]

    return sample


def masks_of(mistake: "Mistake | None" = None, *, alone: bool = True) -> Sampler:
    """Return a sampler of W of the first record: what all else is made from.

    Records are masked by themselves, so that one record many times is many runs, unless a mistake looks at the others.
    """

    def sample(data: Any, runs: int, rng: np.random.Generator) -> Any:
        channel = MAKER.channel(data)
        again = Microdata(data.data.frame.iloc[[0] * runs].reset_index(drop=True), data.data.schema)
        with planting(mistake, data):
            made = [again] if alone else [data.data] * runs
            drawn = [channel.masked(one, source=Simulated(rng)) for one in made]
        rows = runs if alone else 1
        numbers = np.concatenate([w.numbers[:rows] for w in drawn])
        answers = np.concatenate([w.answers[:rows, 0] for w in drawn])
        return np.column_stack([numbers, numbers[:, 0] + numbers[:, 1], answers])

    return sample


def _seen(plan: Plan, seed: int) -> list[float]:
    made = MAKER.synthesize(plan, streams=Streams(seed))
    numbers = np.mean([[copy["x"].mean(), copy["x"].std(), copy["x"].iloc[0], copy["y"].iloc[0]] for copy in made], 0)
    levels = np.mean([[(copy["sex"] == "M").mean(), copy["sex"].iloc[0] == "M"] for copy in made], axis=0)
    return [*numbers, *levels]


Mistake = Callable[[Plan], dict[str, Any]]


@contextmanager
def planting(mistake: Mistake | None, plan: Plan) -> Iterator[None]:
    """Replace a part of the pipeline by one that is wrong."""
    if mistake is None:
        yield
        return
    changed = mistake(plan)
    with patch.multiple(changed["where"], **changed["by"]):
        yield


def _fitted_to_x(plan: Plan) -> dict[str, Any]:
    """θ is drawn from the records themselves, as in DA-MI without ε."""
    values = np.column_stack([plan.data.numbers("x"), plan.data.numbers("y")])
    codes = plan.data.codes("sex")
    sums = np.array([values[codes == c].sum(axis=0) for c in (0, 1)]) / RECORDS
    shape = Shape(2, 2)
    moments = shape.join(np.bincount(codes, minlength=2) / RECORDS, sums, values.T @ values / RECORDS)
    known = Estimated(shape, moments, np.eye(shape.size) * 1e-8)
    return {"where": method, "by": {"estimated": lambda masked, channel: known}}


def _own_bounds(plan: Plan) -> dict[str, Any]:
    """Values are put on the scale of the data's own range."""
    whole = Channel.masked

    def masked(self: Channel, data: Microdata, *, source: Source) -> Masked:
        columns = [
            column.model_copy(update={"bounds": tuple(np.percentile(data.numbers(column.name), [0, 100]))})
            if not column.kind.categorical
            else column
            for column in data.schema.columns
        ]
        axes = tuple(dataclasses.replace(axis, column=next(c for c in columns if c.name == axis.column.name))
                     for axis in self.numbers)  # fmt: skip
        found = whole(dataclasses.replace(self, numbers=axes), data, source=source)
        low, high = (np.array([axis.column.bounds[k] for axis in axes if axis.column.bounds]) for k in (0, 1))
        return Masked(found.answers, low + (high - low) * found.numbers)

    return {"where": Channel, "by": {"masked": masked}}


def _same_noise(plan: Plan) -> dict[str, Any]:
    """One draw of noise for both numbers of a record."""
    whole = Channel.masked

    def masked(self: Channel, data: Microdata, *, source: Source) -> Masked:
        found = whole(self, data, source=source)
        truth = np.column_stack([data.numbers("x"), data.numbers("y")])
        return Masked(found.answers, truth + (found.numbers - truth)[:, [0, 0]])

    return {"where": Channel, "by": {"masked": masked}}


def _not_divided(plan: Plan) -> dict[str, Any]:
    """Every column gets the whole budget."""
    return {"where": Channel, "by": {"each": property(lambda self: self.mu)}}


def _cases(sampler: Callable[..., Sampler], mistakes: dict[str, Mistake | None], cost: float) -> tuple[Case, ...]:
    promise = Gaussian(MAKER.channel(LOW).mu)
    first = MIDDLE if sampler is copies_of else LOW
    return tuple(
        Case(name, sampler(mistake), first, HIGH, promise, DELTA, cost=cost) for name, mistake in mistakes.items()
    )


def _bounds() -> tuple[Case, ...]:
    """Return the case of bounds from the data, on files that differ in how far one record lies out."""
    promise = Gaussian(MAKER.channel(LOW).mu)
    return (Case("bounds read off the data", masks_of(_own_bounds, alone=False), MIDDLE, LOW, promise, DELTA, 1.0),)


WRONG: dict[str, Mistake | None] = {
    "one noise for two columns": _same_noise,
    "every column has the whole budget": _not_divided,
}
CASES: dict[str, Callable[[], tuple[Case, ...]]] = {
    "pipeline": lambda: _cases(copies_of, {"three copies, the whole pipeline": None}, 1.0),
    "mask": lambda: _cases(masks_of, {"W of the record": None}, 0.02),
    "planted": lambda: (
        *_cases(copies_of, {"parameters fitted to X": _fitted_to_x}, 1.0),
        *_cases(masks_of, WRONG, 0.02),
        *_bounds(),
    ),
}
