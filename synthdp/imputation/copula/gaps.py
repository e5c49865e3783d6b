"""Features of records with missing cells, which are drawn given the rest of their record: a chain of latents alone."""

import numpy as np

from synthdp.imputation.copula.chain import Sampler, State
from synthdp.imputation.copula.coding import Coding
from synthdp.imputation.copula.features import Features
from synthdp.imputation.copula.latent import Flags, Latent, Singles
from synthdp.parallel import each
from synthdp.table.microdata import Codes, Floats

BETWEEN = 2  # sweeps before missing cells are read
FIRST = 10
TOGETHER = 25_000  # records of a chain, whatever the number of threads


class Records:
    """The features of the records, those of missing cells drawn anew where parameters move.

    Parameters
    ----------
    coding, latent
        The columns, and what the records say of their latents.
    rng
        For missing cells.
    start
        Latents from earlier, n × q; missing cells are drawn from unrelated columns first if there are none.
    jobs
        How many threads.
    """

    def __init__(
        self, coding: Coding, latent: Latent, *, rng: np.random.Generator, start: Singles | None = None, jobs: int = 1
    ) -> None:
        self.features = Features.of(latent)
        self.found = self.features.known(latent)
        missing = np.zeros((len(latent), latent.shape.width), dtype=np.bool_)
        for item in coding.items:
            missing[:, item.first : item.first + item.width] = item.missing()[:, None]
        self._jobs, self._none = jobs, np.zeros(latent.prior_sd.shape)
        self._rows = np.flatnonzero(missing.any(axis=1))
        self._missing: Flags = missing[self._rows].T
        self.known = _shared(missing)
        """Of each pair of coordinates the share of records that have both."""
        self._parts = np.array_split(self._rows, -(-len(self._rows) // TOGETHER)) if len(self._rows) else []
        streams = rng.spawn(len(self._parts))
        self._samplers = [
            _sampler(latent, rows, start, rng=own) for rows, own in zip(self._parts, streams, strict=True)
        ]
        if start is None:
            self.fill(latent.shape.start(), np.zeros(latent.shape.width), FIRST)

    def fill(self, r: Floats, mean: Floats, sweeps: int = BETWEEN) -> None:
        """Draw the missing cells given the rest of their records."""
        gamma = self._none.copy()
        gamma[0] = mean

        def drawn(sampler: Sampler) -> Singles:
            sampler.refresh(gamma, r, sweeps)
            return self.features(sampler.state.y.T)

        some = list(each(drawn, self._samplers, jobs=self._jobs))
        if some:
            at = self._rows
            self.found[:, at] = np.where(self._missing, np.concatenate(some, axis=1), self.found[:, at])

    def latents(self) -> Singles:
        """Return the latents of records that lack something, n × q; zeros elsewhere."""
        y = np.zeros(self.found.T.shape, dtype=np.float32)
        for rows, sampler in zip(self._parts, self._samplers, strict=True):
            y[rows] = sampler.state.y
        return y


def _sampler(latent: Latent, rows: Codes, start: Singles | None, *, rng: np.random.Generator) -> Sampler:
    some = Latent(
        latent.shape,
        latent.lower[rows],
        latent.upper[rows],
        latent.codes[rows],
        latent.covariates[rows],
        latent.prior_sd,
    )
    y = some.start(rng=rng).astype(np.float32) if start is None else start[rows]
    return Sampler(some, rng=rng, start=State(y, np.zeros(latent.prior_sd.shape), latent.shape.start()))


def _shared(missing: Flags) -> Floats:
    known = (~missing).astype(np.float32)
    return np.asarray(known.T @ known / len(known), dtype=np.float64)
