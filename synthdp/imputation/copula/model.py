"""The Gaussian copula as an association model: one joint distribution of replaced and kept columns.

    y_i ~ N(Γ'h_i, R),   x_ij = F_j⁻¹(Φ(y_ij)),   h_i: risk group or number of neighbours where masks differ by them

R has correlations (nearly) uniform on (−1, 1) beforehand, Γ a normal prior, margins are the columns' own (``margins``).
Missing values need no treatment of their own: their latents are free. R and Γ are sampled with the margins plugged in,
but for location and scale of the latents, which are sampled along (see ``covariance``): exactly given the margins
(reports/copula_sbc), and with intervals that hold what they should when these are the records' own
(reports/copula_margins). Two chains run in parallel until they agree.

Limits. Where values are missing, margins are completed by the model first (at random given the other columns is
enough). Associations other than monotone ones are not seen. Margins are as wide as the records', while every drawn R
holds chance correlations of the records and some of its own: what is left to each column given the others is too little
by 2q/n of its variance. Of 400 records of 9 coordinates with 15% missing, squared errors of imputed cells are 4 to 6%
larger than the variance of their draws, of 1,600 records 1%.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from synthdp.errors import Unfinished
from synthdp.imputation.copula.chain import Sampler
from synthdp.imputation.copula.coding import FEWEST_KNOWN, MOST_UTILITIES, Coding, follows, leave_out
from synthdp.imputation.copula.drawing import CopulaParameters
from synthdp.imputation.copula.fitting import FIRST_RUN, Fit, Limits, TooLong, run_chains, settle
from synthdp.imputation.copula.implied import Implied, implied
from synthdp.imputation.copula.information import least_information
from synthdp.imputation.copula.margins import Family
from synthdp.imputation.copula.moments import fit_moments
from synthdp.imputation.copula.ranks import RankSampler, orders_of
from synthdp.imputation.model import Association, Completes, Task, settings_problems
from synthdp.table.microdata import Floats, Microdata
from synthdp.table.schema import Kind, Role

MOST_WORK = 5e8  # latents drawn, records x unknown ones x sweeps: ten seconds of two threads
LITTLE_WORK = 2e8  # a few seconds: chains are exact, and nobody waits for them
SHORTEST = 500  # sweeps that chains take at least, more or less
PLENTY = 400.0  # records' worth of the correlation that is known worst: its posterior is normal
RECORDS_PER_COORDINATE = 15  # see reports/copula_moments
MOST_NAMED = 5


class Copula(Association):
    """A Gaussian copula of all columns.

    Parameters
    ----------
    exclude
        Kept columns the model must not see.
    families
        Columns with a margin of a family, not their own: ``normal``, ``gamma`` (above the lower bound) or ``beta``
        (between the bounds), on the working scale: with ``transform: log``, normal means lognormal.
    margins
        While correlations are sampled: ``empirical`` margins plugged in up to location and scale, or ``rank``, nothing
        but the order of values (Hoff 2007; see ``ranks``), which takes about five times as long. Copies have
        bootstrapped margins either way, columns with a family keep it.
    group_prior_sd
        Prior sd of the effects of risk group and number of neighbours on the latents.
    prior_records
        Columns with fewer records than that to learn from (rare levels, questions that few answer) get as many
        unrelated ones as they lack: their correlations are drawn towards zero. With zero correlations are (nearly)
        uniform on (−1, 1) beforehand; then chains are long wherever records say next to nothing.
    least_ess, most_r_hat
        When the chains are long enough: effective sample size, of bulk and of tails, and R-hat of the worst entry that
        matters for what is released (correlations between two kept columns do not count).
    most_sweeps
        How long a chain may become before the run is given up.
    shortcut
        ``auto``: correlations come from moments and their spread from weighted records (see ``moments``) where masks
        do not differ by group and records are many: at once if chains would take more than a few seconds and every
        correlation has 400 records' worth to learn from, or if a level follows from another column; after chains
        have turned out to take more than ten seconds or so where there are 15 records for each coordinate.
        ``always`` from 15 records for each coordinate on, without trying chains; ``never``.

    Examples
    --------
    >>> Copula(exclude=("serial",)).most_r_hat
    1.05
    """

    method: Literal["copula"] = "copula"
    families: dict[str, Family] = Field(default_factory=dict)
    margins: Literal["empirical", "rank"] = "empirical"
    group_prior_sd: float = Field(default=1.0, gt=0)
    prior_records: float = Field(default=0.0, ge=0)
    least_ess: float = Field(default=60.0, gt=0)
    most_r_hat: float = Field(default=1.05, gt=1)
    most_sweeps: int = Field(default=20_000, ge=FIRST_RUN)
    shortcut: Literal["auto", "always", "never"] = "auto"
    completes: ClassVar[Completes | None] = "jointly"
    withdrawn: ClassVar[str | None] = "the association model's margins follow the records' own values"

    @property
    def splines(self) -> int:
        """Margins bend by themselves: no splines."""
        return 0

    def problems(self, data: Microdata) -> list[str]:
        """Return why a copula cannot replace the columns the schema asks for."""
        found = settings_problems(data, None, self.exclude) + _family_problems(data, self.families)
        columns = [column for column in data.schema.columns if column.name not in self.exclude]
        levels = {c.name: len(np.unique(data.codes(c.name))) for c in columns if c.kind is Kind.NOMINAL}
        for name, count in levels.items():
            if count - 1 > MOST_UTILITIES:
                replaced = data.schema[name].role is Role.REPLACE
                cure = (
                    "set rare: to group rare levels" if replaced else "set rare:, or add it to synthesis.model.exclude"
                )
                found.append(
                    f"variables.{name}: a copula takes nominal columns of at most {MOST_UTILITIES + 1} levels, found "
                    f"{count}; {cure}."
                )
        width = sum(max(levels.get(column.name, 2) - 1, 1) for column in columns)
        if not found and len(data) <= width:
            # with so few records every column follows from the others: nothing more can be said
            return [
                f"data: a copula of {width} coordinates needs more records than that, found {len(data)}; list columns "
                "in synthesis.model.exclude."
            ]
        return found + _replaced_problems(data, self.exclude)

    def fit(self, task: Task, *, rng: np.random.Generator) -> "CopulaPosterior":
        """Run the chains until they agree, or take the shortcut. O(n q²) per sweep.

        Raises
        ------
        Unfinished
            When they do not within ``most_sweeps`` and the shortcut cannot be taken.
        """
        coding = Coding.of(task, self.exclude, self.group_prior_sd, self.families)
        lacking = coding.lacking(self.prior_records)
        follow = implied(coding)
        may = self._may_be_short(coding)
        found: Fit | TooLong | None = None
        if not may or (self.shortcut == "auto" and not follow and not _plenty(coding)):
            work = MOST_WORK if may else None
            limits = Limits(self.least_ess, self.most_r_hat, self.most_sweeps, work)
            settled, start = settle(coding, rng=rng, prior_records=lacking)
            make = partial(self._sampler(settled), prior_records=lacking)
            found = run_chains(settled, start, limits=limits, rng=rng, make=make, jobs=task.jobs, advance=task.advance)
        if isinstance(found, TooLong) and not may:
            raise Unfinished(self._given_up(found, limits, follow))
        if not isinstance(found, Fit):
            found = fit_moments(coding, rng=rng, jobs=task.jobs, told=task.advance)
        rows = _diagnostics(found, coding, follow)
        return CopulaPosterior(found.codings, found.r, found.gamma, task.sweeps, rows, task.jobs)

    def _may_be_short(self, coding: Coding) -> bool:
        """Return whether moments may stand for the chains."""
        n, width = len(coding.covariates), coding.prior_sd.shape[1]
        plain = self.margins == "empirical" and coding.covariates.shape[1] == 1
        return self.shortcut != "never" and plain and n >= RECORDS_PER_COORDINATE * width

    def _given_up(self, found: TooLong, limits: Limits, follow: tuple[Implied, ...]) -> str:
        """Return why there are no copies, and what to do."""
        because = "".join(f"; {one.column} has a level that follows from {one.by}" for one in follow[:MOST_NAMED])
        return (
            f"synthesis.model: the copula's chains do not agree after {found.sweeps} sweeps "
            f"({found.verdict.said(limits)}{because}); set prior_records if few answer or a level is rare, raise "
            "most_sweeps, group rare levels, or exclude columns that nearly follow from others."
        )

    def _sampler(self, coding: Coding) -> Callable[..., Sampler]:
        """Return what makes a chain."""
        return partial(RankSampler, orders=orders_of(coding, self.families)) if self.margins == "rank" else Sampler


def _replaced_problems(data: Microdata, exclude: tuple[str, ...]) -> list[str]:
    """Return which replaced columns a copula cannot draw."""
    found: list[str] = []
    seen: list[Floats] = []
    unseen = {name for name, _ in leave_out(data, exclude)} | set(exclude)
    for column in (*data.schema.kept(), *data.schema.replaced()):
        if column.name in unseen:
            continue
        where = f"variables.{column.name}"
        known = int(data.frame[column.name].notna().sum())
        repeats = column.kind is not Kind.NOMINAL and known > 0 and follows(data, column.name, seen)
        if column.role is not Role.REPLACE:
            continue
        if column.kind is Kind.DATE:
            found.append(f"{where}: a copula cannot replace dates; use trees, or set role: keep.")
        if known < FEWEST_KNOWN:
            found.append(f"{where}: a copula needs at least {FEWEST_KNOWN} values, found {known}; set role: drop.")
        elif repeats:
            found.append(f"{where}: follows from other columns; write it as derived:, or drop one of them.")
    return found


def _family_problems(data: Microdata, families: Mapping[str, Family]) -> list[str]:
    """Return which margins cannot be of the family that was asked for."""
    found: list[str] = []
    for name, family in families.items():
        where = f"synthesis.model.families.{name}"
        column = next((column for column in data.schema.columns if column.name == name), None)
        if column is None:
            found.append(f"{where}: no such column in the data.")
        elif column.kind.categorical or column.kind is Kind.DATE:
            found.append(f"{where}: only numbers have a family; leave it out.")
        elif family != "normal" and column.bounds is None:
            found.append(f"{where}: a {family} margin needs bounds; write variables.{name}.bounds.")
    return found


def _plenty(coding: Coding) -> bool:
    """Return whether chains would take a while and every posterior is normal: then moments say the same."""
    latents = len(coding.covariates) * coding.prior_sd.shape[1]
    return latents * SHORTEST > LITTLE_WORK and least_information(coding) >= PLENTY


def _diagnostics(fit: Fit, coding: Coding, follow: tuple[Implied, ...]) -> tuple[dict[str, object], ...]:
    rows: list[dict[str, object]] = []
    if np.isfinite(fit.r_hat):
        said = {"r_hat": round(fit.r_hat, 4), "ess": round(fit.ess, 1), "tail_ess": round(fit.tail_ess, 1)}
        rows.append({"model": "copula", "sweeps": fit.sweeps, **said})
    elif not fit.sweeps:
        rows.append({"model": "copula", "by": "moments"})
    rows += [{"column": name, "left_out": why} for name, why in coding.left_out]
    rows += [{"column": one.column, "follows_from": one.by} for one in follow]
    rows += [{"column": item.column.name, "rare_levels": "drawn as one"} for item in coding.items if item.pool]
    rows += [{"column": item.column.name, "nearly_constant": True} for item in coding.items if item.nearly_constant()]
    return tuple(rows)


@dataclass(frozen=True, repr=False)
class CopulaPosterior:
    """Draws of R and Γ, and the records whose bootstrap gives the margins.

    Parameters
    ----------
    codings
        The columns, with margins completed in different ways where values are missing.
    r, gamma
        draws × free entries.
    rows
        What the release says of the chains.
    jobs
        How many threads a draw takes.
    """

    codings: tuple[Coding, ...]
    r: Floats
    gamma: Floats
    sweeps: int
    rows: tuple[dict[str, object], ...]
    jobs: int = 1

    def __repr__(self) -> str:
        return f"CopulaPosterior({len(self.r)} draws)"

    def diagnostics(self) -> tuple[dict[str, object], ...]:
        """Return the worst R-hat and effective sample size, and the columns that were left out."""
        return self.rows

    def draw(self, *, rng: np.random.Generator) -> CopulaParameters:
        """Draw θ: one of the chains' states, one way to complete the margins, and their weights."""
        coding = self.codings[int(rng.integers(len(self.codings)))]
        shape = coding.shape()
        at = int(rng.integers(len(self.r)))
        r = shape.start()
        j, k = np.nonzero(np.triu(~shape.fixed()))
        r[j, k] = r[k, j] = self.r[at]
        gamma = np.zeros(coding.prior_sd.shape)
        gamma[coding.effects()] = self.gamma[at]
        weights = rng.standard_exponential(len(coding.covariates))
        return CopulaParameters(coding, r, gamma, weights, self.sweeps, self.jobs)
