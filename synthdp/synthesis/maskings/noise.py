"""Plain additive noise, Y = X + Z: nothing is claimed, unlike for ``local_noise``."""

import math
from typing import Literal

import numpy as np
from pydantic import Field

from synthdp.synthesis.maskings.masking import Numeric
from synthdp.table.microdata import Floats
from synthdp.table.schema import Column


class Noise(Numeric):
    """Independent noise added to every number, of an sd in units of the column's own.

    Numbers are then rounded like the data and cut at the bounds, which biases them near the bounds.

    Parameters
    ----------
    sd
        The noise's sd over the column's. sdcMicro's ``addNoise(noise=50)`` is ``sd: 0.5``.
    law
        How the noise is distributed; the sd is the same for all.

    Examples
    --------
    >>> Noise(sd=0.5).law
    'normal'
    """

    method: Literal["noise"] = "noise"
    sd: float = Field(default=0.5, gt=0)
    law: Literal["normal", "laplace", "uniform"] = "normal"

    def move(self, values: Floats, column: Column, rng: np.random.Generator) -> Floats:
        """Return values with noise. Cost O(n)."""
        sd = self.sd * (float(values.std(ddof=1)) if len(values) > 1 else 0.0)
        if self.law == "normal":
            return values + sd * rng.standard_normal(len(values))
        if self.law == "laplace":
            return values + sd / math.sqrt(2) * rng.laplace(size=len(values))
        return values + sd * math.sqrt(3) * rng.uniform(-1, 1, len(values))
