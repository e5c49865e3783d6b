"""What the release of a density is: values on a grid with the band of their noise, and records drawn from it."""

import math
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from synthdp.dp.declarations import Budget
from synthdp.dp.kernels import Kernel
from synthdp.dp.noise import nearest_law
from synthdp.dp.request import Priced
from synthdp.privacy.guarantees import whole
from synthdp.table.microdata import Floats

SHOWN = 21


@dataclass(frozen=True, repr=False)
class Density(Priced):
    """A released density on a grid of cells.

    Attributes
    ----------
    axes, edges
        Centres and edges of the cells of each column.
    estimate, low, high
        The density at the centres, an axis per column, and its pointwise band; it may be below 0.
    noise_sd, sampling_sd
        The sd of the privacy noise, and about that of the estimate itself if the records are a sample.
    bandwidths, kernel
        How it was smoothed (in the columns' units), and the space its noise lives in.
    """

    names: tuple[str, ...]
    axes: tuple[Floats, ...]
    edges: tuple[Floats, ...]
    estimate: Floats
    noise_sd: Floats
    sampling_sd: Floats
    half: Floats
    kernel: Kernel
    bandwidths: tuple[float, ...]
    budget: Budget
    notes: tuple[str, ...]
    reason: str | None = None
    confidential: tuple[str, ...] = field(default=(), kw_only=True)

    @property
    def low(self) -> Floats:
        """Lower end of the band."""
        return np.asarray(self.estimate - self.half)

    @property
    def high(self) -> Floats:
        """Upper end of the band."""
        return np.asarray(self.estimate + self.half)

    @property
    def statistic(self) -> str:
        """What was released."""
        return f"density of {', '.join(self.names)}"

    @property
    def weights(self) -> Floats:
        """The probability of every cell: the nearest law to the noisy one, which may be negative here and there."""
        mass = self.estimate
        for axis, edges in enumerate(self.edges):
            mass = np.moveaxis(np.moveaxis(mass, axis, -1) * np.diff(edges), -1, axis)
        return nearest_law(mass)

    def sample(self, size: int, *, rng: np.random.Generator) -> pd.DataFrame:
        """Return synthetic records: cells by their probabilities, values evenly within them; costs nothing more."""
        size = whole(size, "size", 0)
        cells = rng.choice(self.estimate.size, size, p=self.weights.ravel())
        places = np.unravel_index(cells, self.estimate.shape)
        drawn = {
            name: rng.uniform(edges[where], edges[where + 1])
            for name, edges, where in zip(self.names, self.edges, places, strict=True)
        }
        return pd.DataFrame(drawn)

    def table(self) -> pd.DataFrame:
        """Return one row per cell: its centre, the density, its band, and both standard deviations."""
        centres = np.meshgrid(*self.axes, indexing="ij")
        columns = {
            "density": self.estimate,
            "low": self.low,
            "high": self.high,
            "noise_sd": self.noise_sd,
            "sampling_sd": self.sampling_sd,
        }
        # a column may be called density, too
        found = {
            f"{name} " if name in columns else name: at.ravel() for name, at in zip(self.names, centres, strict=True)
        }
        found |= {name: values.ravel() for name, values in columns.items()}
        return pd.DataFrame(found, index=pd.RangeIndex(1, self.estimate.size + 1, name="cell"))

    def __repr__(self) -> str:
        rows = self.table()
        step = math.ceil(len(rows) / SHOWN)
        body = rows.iloc[step // 2 :: step].to_string(float_format=lambda number: f"{number:.6g}", index=False)
        said = [] if step == 1 else [f"  (one cell in {step}, of {len(rows):,})"]
        return "\n".join([self._headline(), *(f"  {line}" for line in body.splitlines()), *said, *self._tail()])

    def _headline(self) -> str:
        wide = ", ".join(f"{h:.4g}" for h in self.bandwidths)
        return f"{self.statistic}, {self.kernel} kernel, bandwidth {wide}, {self.level:.0%} band"
