"""Masks whose strength is a function of the record's own values: a rule h on columns that are replaced.

    p(x | z, w, θ)  ∝  p(x | z, θ) · Π_j p(w_j | x_j, λ_{j,h(x)})

Nobody who draws a copy knows the group of a record: W tells of it what it tells, through the strength it must have had.
Let C_g = ∫ p(x | z, θ) Π_j p(w_j | x_j, λ_{j,g}) dx and p_g the law with the masks of group g for all. The target is
then Σ_g C_g p_g(x) [h(x) = g]: choose g with probability ∝ C_g, draw x from p_g, and take the first x that lies in the
group it was drawn for. That is exact, and no chain. How many tries a record takes depends on its W; on the average over
W it is the number of groups, whatever the masks and the rule:

    E[tries] = ∫ (Σ_g C_g(w) / Z(w)) Z(w) dw = Σ_g ∫ C_g(w) dw,     Z(w) the density of W under the model

Records the model does not expect may take any number; of those it does, at most groups/T of all take T. After
``MOST_TRIES`` the value is drawn among some of each p_g, weighed by the target over the mixture of all p_g (sampling,
importance resampling: exact in the limit). That is on purpose not pursued to the end. To a normal model an outlier
under a narrow mask may look like a record of the other side under a wide one, and its value would be thrown there;
among few draws hardly any lies there, and the outlier stays near its W.

References
----------
Rubin (1987), comment on Tanner and Wong, JASA 82(398), 543-546 (importance resampling).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, Self, runtime_checkable

import numpy as np
import pandas as pd

from synthdp.masking.evidence import (
    Evidence,
    GaussianEvidence,
    LevelEvidence,
    about_levels,
    about_numbers,
    draw_levels,
    log_sum,
)
from synthdp.table.microdata import Codes, Floats

MOST_TRIES = 512
# draws of each p_g that a value is chosen from where tries did not end
CHOICES = 256
# rows that cost next to nothing: of few records as many tries are made in one go
CHEAP = 512
# so many drawn values are weighed at once
ROWS_AT_ONCE = 2**18

# the group of some records, each as often as it is named, by the working values of their replaced columns
Decide = Callable[[Codes, Mapping[str, Floats]], Codes]


@dataclass(frozen=True, repr=False)
class Grouped:
    """What W says where the mask's strength is a function of the values themselves.

    Parameters
    ----------
    parts
        By group: what W says about each column under the masks of that group.
    constants
        n × groups: what the parts leave out, so that they can be compared between groups. Evidence about a number is
        taken to be zero at its peak, evidence about levels is taken as it stands.
    decide
        The rule.
    names
        The columns the rule is a function of.
    records
        Which record each row is about.
    """

    parts: tuple[Mapping[str, Evidence], ...]
    constants: Floats
    decide: Decide
    names: frozenset[str]
    records: Codes

    def __repr__(self) -> str:
        return f"Grouped({len(self)} records, {len(self.parts)} groups)"

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, rows: slice | Codes) -> Self:
        parts = tuple({name: about[rows] for name, about in part.items()} for part in self.parts)
        return replace(self, parts=parts, constants=self.constants[rows], records=self.records[rows])

    def groups(self, values: Mapping[str, Floats]) -> Codes:
        """Return the group each record would be in with these working values."""
        return self.decide(self.records, values)

    def under(self, name: str, groups: Codes) -> Evidence:
        """Return what W says about a column if each record were in the group named."""
        own = (groups, np.arange(len(groups)))
        stacked = self._stacked[name]
        if len(stacked) == 1:
            return LevelEvidence(stacked[0][own])
        return GaussianEvidence(stacked[0][own], stacked[1][own])

    @cached_property
    def _stacked(self) -> dict[str, tuple[Floats, ...]]:
        """By column: what W says under all groups, one behind the other."""
        found: dict[str, tuple[Floats, ...]] = {}
        for name, first in self.parts[0].items():
            pieces = [part[name] for part in self.parts]
            if isinstance(first, LevelEvidence):
                found[name] = (np.stack([about_levels(piece).log_weights for piece in pieces]),)
            else:
                numbers = [about_numbers(piece) for piece in pieces]
                found[name] = (np.stack([one.linear for one in numbers]), np.stack([one.precision for one in numbers]))
        return found

    def log_likelihoods(self, values: Mapping[str, Floats]) -> Floats:
        """Return log Π_j p(w_j | x_j, λ_{j,g}) of working values, n × groups."""
        found = self.constants.copy()
        for name, x in values.items():
            found += self.of_column(name, x)
        return found

    def of_column(self, name: str, x: Floats) -> Floats:
        """Return one column's part of :meth:`log_likelihoods`, the constants left out."""
        return np.column_stack([_at(part[name], x) for part in self.parts])


def _at(about: Evidence, x: Floats) -> Floats:
    if isinstance(about, LevelEvidence):
        return np.asarray(np.take_along_axis(about.log_weights, x.astype(np.int64)[:, None], axis=1)[:, 0])
    number = about_numbers(about)
    return np.asarray(-0.5 * number.precision * (x - number.mean()) ** 2)


class Law(Protocol):
    """p_g of some records."""

    def log_norm(self) -> Floats:
        """Return log C_g, the constants left out."""
        ...

    def draw(self, rows: Codes, *, rng: np.random.Generator) -> dict[str, Floats]:
        """Draw some of the records, each as often as it is named."""
        ...


@runtime_checkable
class Groupable(Protocol):
    """Parameters that can be given masks whose strength is a function of the values."""

    def draw_grouped(
        self, about: Grouped, *, rng: np.random.Generator
    ) -> tuple[dict[str, Floats], pd.DataFrame | None]:
        """Draw all replaced columns jointly from p(x | z, w, θ); return the trace of the chain where it takes one."""
        ...


def draw_consistent(laws: Sequence[Law], about: Grouped, *, rng: np.random.Generator) -> dict[str, Floats]:
    """Draw every record from the target. Cost: about as many draws as there are groups, per record."""
    log_weights = np.column_stack([law.log_norm() for law in laws]) + about.constants
    found = {name: np.empty(len(about)) for name in about.parts[0]}
    pending, tried = np.arange(len(about)), 0
    while len(pending) and tried < MOST_TRIES:
        count = max(1 if tried == 0 else 2, CHEAP // len(pending), tried)
        left = []
        for start in range(0, len(pending), max(ROWS_AT_ONCE // count, 1)):
            some = pending[start : start + max(ROWS_AT_ONCE // count, 1)]
            rows = np.repeat(some, count)
            group = draw_levels(log_weights[rows], rng=rng)
            values = _draw(laws, rows, group, rng=rng)
            fits = (about.decide(about.records[rows], values) == group).reshape(-1, count)
            ended = fits.any(axis=1)
            places = (np.arange(len(some)) * count + fits.argmax(axis=1))[ended]
            for name, drawn in values.items():
                found[name][some[ended]] = drawn[places]
            left.append(some[~ended])
        pending, tried = np.concatenate(left), tried + count
    step = max(ROWS_AT_ONCE // (len(laws) * CHOICES), 1)
    for start in range(0, len(pending), step):
        some = pending[start : start + step]
        for name, drawn in _resampled(laws, about, log_weights, some, rng=rng).items():
            found[name][some] = drawn
    return found


def _draw(laws: Sequence[Law], rows: Codes, group: Codes, *, rng: np.random.Generator) -> dict[str, Floats]:
    """Draw each row from the law of its group."""
    values: dict[str, Floats] = {}
    for g, law in enumerate(laws):
        here = np.flatnonzero(group == g)
        for name, drawn in law.draw(rows[here], rng=rng).items():
            values.setdefault(name, np.empty(len(rows)))[here] = drawn
    return values


def _resampled(
    laws: Sequence[Law], about: Grouped, log_weights: Floats, records: Codes, *, rng: np.random.Generator
) -> dict[str, Floats]:
    """Draw records among many draws of every p_g, weighed by the target."""
    rows = np.repeat(records, len(laws) * CHOICES)
    group = np.tile(np.arange(len(laws)), len(records) * CHOICES)
    values = _draw(laws, rows, group, rng=rng)
    here = about[rows]
    likelihoods = here.log_likelihoods(values)
    possible = np.isfinite(log_weights[rows])
    mixture = log_sum(np.where(possible, likelihoods - np.where(possible, log_weights[rows], 0.0), -np.inf))
    own = np.take_along_axis(likelihoods, here.groups(values)[:, None], axis=1)[:, 0]
    drawn_at_all = np.take_along_axis(possible, group[:, None], axis=1)[:, 0] & np.isfinite(mixture)
    weights = np.where(drawn_at_all, own - mixture, -np.inf).reshape(len(records), -1)
    # W of a kind that only one group has, in which the model never puts the record: any of its draws
    weights = np.where(np.isfinite(weights).any(axis=1, keepdims=True), weights, 0.0)
    chosen = np.arange(len(records)) * weights.shape[1] + draw_levels(weights, rng=rng)
    return {name: drawn[chosen] for name, drawn in values.items()}
