r"""DA-MI with a finite ε: copies that complete W, by parameters that saw W alone.

DA-MI fits its model to the records themselves, so its release has no ε. Here the records are masked first, by noise of
fixed strength on declared bounds (``channel``); the moments of X are drawn given W (``posterior``); and for copy m each
record is drawn given its own W and these moments:

    P(c | w) ∝ π_c R[c, w] N(W; s_c/π_c, Σ + σ²I),   x | c, w ~ N(m_c + Σ(Σ + σ²I)⁻¹(W − m_c), σ²Σ(Σ + σ²I)⁻¹).

All of it is post-processing of W, which is μ-GDP; every column is masked, none is released as it is.

Notes
-----
X is missing, W is what was observed, and copies are proper imputations of X. So the rule is Rubin's (1987),
T = v̄ + (1 + 1/M) b: for a mean of numbers with variance τ² its v̄ is τ²/n and its b is σ²/n, together what the mean of W
has. Reiter's (2003) b/M takes the original's estimate for known, and would leave all but 1/M of the noise out.

Within a cell numbers are drawn from a normal law with the moments that were drawn; what falls outside the bounds is
moved to them. Regressions of one column on others rest on moments up to the second, which need no normal law.

References
----------
Jiang, Raftery, Steele, Wang (2022), JASA 117(537) (DA-MI). Rubin (1987), Multiple Imputation for Nonresponse in
Surveys, Wiley.
"""

import math
import time
from collections.abc import Callable
from typing import ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field, FiniteFloat

from synthdp.imputation.cells import write
from synthdp.parallel import Advance, each
from synthdp.privacy.mechanisms.mechanism import says_nothing
from synthdp.seeding import Streams
from synthdp.synthesis.design import Design
from synthdp.synthesis.plan import Plan, Release
from synthdp.synthesis.private.masked.channel import Channel, Masked
from synthdp.synthesis.private.masked.moments import Shape, estimated
from synthdp.synthesis.private.masked.posterior import Posterior, within_cells
from synthdp.synthesis.private.synthesizer import Private
from synthdp.table.microdata import Codes, Floats
from synthdp.table.schema import Kind

MOST_MOMENTS = 120
RECORDS_EACH = 10
"""So many records for each moment: the error of all moments is known from their scatter over records."""
TAKEN = (Kind.CONTINUOUS, Kind.BINARY, Kind.NOMINAL)


class DpDaMi(Private):
    """Every record's values masked, and copies drawn from what the masked records say.

    Examples
    --------
    >>> DpDaMi(epsilon=3.0).delta
    1e-06
    """

    method: Literal["dp_da_mi"] = "dp_da_mi"
    delta: FiniteFloat = Field(default=1e-6, gt=0, lt=1)
    most_cells: ClassVar[float] = math.inf

    def problems(self, plan: Plan) -> list[str]:
        """Return everything that keeps this method from working on this plan."""
        found = super().problems(plan)
        columns = plan.data.schema.replaced()
        found += [
            f"variables.{column.name}: dp_da_mi takes numbers (kind continuous) and levels (binary, nominal), not "
            f"{column.kind}; use dp_mst."
            for column in columns
            if column.kind not in TAKEN
        ]
        found += [
            f"synthesis.missing: dp_da_mi cannot hide which values of {column.name} are missing; use another method."
            for column in columns
            if column.name in self.missing and not column.kind.categorical
        ]
        if not found:
            channel = self.channel(plan)
            cells = math.prod(axis.size for axis in channel.levels)
            size = Shape(cells, len(channel.numbers)).size
            if size > MOST_MOMENTS:
                found.append(
                    f"synthesis: {cells:,} combinations of levels and {len(channel.numbers)} numbers have {size:,} "
                    f"moments, dp_da_mi takes at most {MOST_MOMENTS}; drop columns, group levels, or use dp_mst."
                )
            elif size * RECORDS_EACH > len(plan.data):
                found.append(
                    f"synthesis: {size} moments of levels and numbers need at least {size * RECORDS_EACH:,} records, "
                    f"found {len(plan.data):,}; drop columns, group levels, or use dp_mst."
                )
        return found

    def notes(self, plan: Plan) -> list[str]:
        """Return what the masks are, and whether a record's own values say anything."""
        channel = self.channel(plan)
        found = [
            f"dp_da_mi: W is {channel.mu:.3g}-GDP, which is ({self.epsilon:g}, {self.delta:g})-DP; every column is "
            f"masked ({_strength(channel)}), and copies are drawn from W alone: no column is public."
        ]
        if channel.numbers and says_nothing(channel.sd, 1.0):
            found.append(
                f"synthesis.epsilon: the noise of a number has sd {channel.sd:.3g} times the width of its bounds: "
                "associations of numbers will be known hardly better than the bounds say, and intervals be wide. "
                "Raise epsilon, use fewer columns, or a method that adds noise to statistics."
            )
        return found

    def channel(self, plan: Plan) -> Channel:
        """Return the masks."""
        return Channel.of(self.domain(plan).axes, epsilon=self.epsilon, delta=self.delta)

    def design(self, plan: Plan) -> Design:
        """Return what inference from the copies depends on."""
        return Design(replaced="all", proper=True, copies=self.copies, completed=True)

    def synthesize(self, plan: Plan, *, streams: Streams, jobs: int = 1, advance: Advance | None = None) -> Release:
        """Mask, once; then look at W only."""
        started = time.perf_counter()
        channel = self.channel(plan)
        masked = channel.masked(plan.data, source=self.noise(streams))
        draw = completing(masked, channel, self.copies, rng=streams.generator("theta", self.method))
        fitted = time.perf_counter()

        def copy(m: int) -> pd.DataFrame:
            rng = streams.generator("values", self.method, m)
            return self.written(plan, channel, *draw(m - 1, rng))

        copies = tuple(each(copy, range(1, self.copies + 1), advance=advance))
        seconds = {"fit": fitted - started, "draw": time.perf_counter() - fitted}
        return Release.of(self, plan, copies, privacy=self.guarantee(plan, channel.event()), seconds=seconds)

    def written(self, plan: Plan, channel: Channel, levels: Codes, unit: Floats) -> pd.DataFrame:
        """Return levels, and numbers on the unit scale, as a file like the original."""
        like = plan.data.frame
        found: dict[str, pd.Series] = {}
        for j, axis in enumerate(channel.levels):
            found[axis.column.name] = axis.labels(levels[:, j], like[axis.column.name])
        for j, axis in enumerate(channel.numbers):
            low, high = axis.column.bounds or (0.0, 1.0)
            name = axis.column.name
            found[name] = write(low + (high - low) * unit[:, j], axis.column, axis.like(like[name]))
        return pd.DataFrame(found)[list(like.columns)]


Completed = Callable[[int, np.random.Generator], tuple[Codes, Floats]]


def completing(masked: Masked, channel: Channel, copies: int, *, rng: np.random.Generator) -> Completed:
    """Return how copy m is drawn: levels, and numbers on the unit scale. Nothing but W goes in."""
    found = estimated(masked, channel)
    moments = Posterior(found).draws(copies, rng=rng)
    matrices = channel.matrices()

    def draw(m: int, rng: np.random.Generator) -> tuple[Codes, Floats]:
        return completed(masked, found.shape.split(moments[m]), matrices, channel.sd, rng=rng)

    return draw


def completed(
    masked: Masked,
    moments: tuple[Floats, Floats, Floats],
    matrices: list[Floats],
    sd: float,
    *,
    rng: np.random.Generator,
) -> tuple[Codes, Floats]:
    """Return every record's levels and numbers, drawn given its own W and the moments. Cost O(n·K·p²)."""
    shares, sums, squares = moments
    n, p = masked.numbers.shape
    means = sums / shares[:, None]
    sizes = [len(matrix) for matrix in matrices]
    places = np.column_stack(np.unravel_index(np.arange(len(shares)), sizes)) if sizes else np.zeros((1, 0), np.int64)
    log_weights = np.tile(np.log(shares), (n, 1))
    for j, matrix in enumerate(matrices):
        log_weights += np.log(matrix)[places[:, j]][:, masked.answers[:, j]].T
    within = within_cells(shares, sums, squares) if p else np.zeros((0, 0))
    total = within + sd**2 * np.eye(p)
    if p:
        root = np.linalg.inv(np.linalg.cholesky(total))
        scaled, centres = masked.numbers @ root.T, means @ root.T
        for c in range(len(shares)):
            log_weights[:, c] -= 0.5 * ((scaled - centres[c]) ** 2).sum(axis=1)
    # the largest of log weights with Gumbel noise is a draw in proportion to the weights
    cells = np.argmax(log_weights + rng.gumbel(size=log_weights.shape), axis=1)
    numbers = np.zeros((n, p))
    if p:
        gain = np.linalg.solve(total, within).T
        left = sd**2 * gain
        values, vectors = np.linalg.eigh((left + left.T) / 2)
        spread = vectors * np.sqrt(np.maximum(values, 0.0))
        numbers = means[cells] + (masked.numbers - means[cells]) @ gain.T + rng.standard_normal((n, p)) @ spread.T
    return places[cells], numbers


def _strength(channel: Channel) -> str:
    parts = []
    if channel.numbers:
        parts.append(f"numbers by noise of sd {channel.sd:.3g} times the width of their bounds")
    if channel.levels:
        parts.append(f"levels by random response with epsilon {channel.epsilon:.3g}")
    return ", ".join(parts)
