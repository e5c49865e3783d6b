"""The designs of the study of combining rules: how copies are made, and which rules are tried on them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.special import expit

from synthdp.microdata import Floats
from synthdp.studies import chain
from synthdp.studies.chain import World, draw_all, draw_given_z, draw_outcomes, fit

MASK_SD = 1.0
MASK_SHIFT = 1.0
Make = Callable[[World, np.random.Generator], World]


@dataclass(frozen=True)
class Scheme:
    """A way of making copies, and the rules tried on them.

    Parameters
    ----------
    name, words
        What it is called, and what is done.
    make
        From the original to the copies.
    fits, known, wrong
        Rules that fit and must cover; that fit but are known not to do well with so few copies; that do not fit.
    nests, ratio
        The layout and size of the copies.
    """

    name: str
    words: str
    make: Make
    fits: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    nests: int | None = None
    ratio: float = 1.0

    @property
    def rules(self) -> tuple[tuple[str, str], ...]:
        """Every rule with its standing."""
        standing = {"fits": self.fits, "few copies": self.known, "wrong": self.wrong}
        return tuple((rule, label) for label, rules in standing.items() for rule in rules)


def partial_synthesis(data: World, rng: np.random.Generator, *, copies: int, proper: bool) -> World:
    """Draw x, y and d anew; z is kept."""
    return draw_given_z(data.times(copies), fit(data).times(copies), proper=proper, rng=rng)


def full_synthesis(data: World, rng: np.random.Generator, *, copies: int, proper: bool, size: int = 1) -> World:
    """Draw every column anew."""
    return draw_all(fit(data).times(copies), size * data.z.shape[1], proper=proper, rng=rng)


def imputed(data: World, rng: np.random.Generator, *, imputations: int) -> World:
    """Impute y and d where they are missing; whether they are depends on z."""
    seen = (rng.random(data.z.shape) > expit(-0.4 + 0.5 * data.z)).astype(np.float64)
    return _filled(data, seen, fit(data, seen), imputations, rng)


def imputed_then_synthesised(data: World, rng: np.random.Generator, *, imputations: int, copies: int) -> World:
    """Impute, then draw x, y and d anew several times for each completed original."""
    completed = imputed(data, rng, imputations=imputations)
    return draw_given_z(completed.times(copies), fit(completed).times(copies), proper=True, rng=rng)


def imputed_twice(data: World, rng: np.random.Generator, *, first: int, second: int) -> World:
    """Impute a quarter of the records, then, given each of these, another quarter several times."""
    part = rng.integers(4, size=data.z.shape)
    known = (part > 1).astype(np.float64)
    stage = _filled(data, 1.0 - (part == 0), fit(data, known), first, rng)
    return _filled(stage, 1.0 - (part == 1), fit(stage, 1.0 - (part == 1)), second, rng)


def masked(data: World, rng: np.random.Generator, *, draws: int, copies: int) -> World:
    """Draw y and d given x, z and a W of each; every draw of W serves several copies."""
    w_y = np.repeat(data.y + MASK_SD * rng.normal(size=(draws, data.y.shape[1])), copies, axis=0)
    w_d = np.repeat(MASK_SHIFT * data.d + rng.normal(size=(draws, data.d.shape[1])), copies, axis=0)
    model, repeated = fit(data).times(draws * copies), data.times(draws * copies)
    beta, sd = model.y.parameters(proper=True, rng=rng)
    centre = np.einsum("cnp,cp->cn", repeated.design(), beta)
    weight = (sd**2 / (sd**2 + MASK_SD**2))[:, None]
    spread = np.sqrt(weight) * MASK_SD
    y = centre + weight * (w_y - centre) + spread * rng.normal(size=centre.shape)
    chance = chain.chances(repeated, model, proper=True, rng=rng)
    # odds of the model times the likelihood ratio of W ~ N(shift · d, 1)
    odds = chance / (1 - chance) * np.exp(MASK_SHIFT * w_d - MASK_SHIFT**2 / 2)
    return replace(repeated, y=y, d=(rng.random(odds.shape) < odds / (1 + odds)).astype(np.float64))


def _filled(data: World, seen: Floats, model: chain.Model, copies: int, rng: np.random.Generator) -> World:
    drawn = draw_outcomes(data.times(copies), model.times(copies), proper=True, rng=rng)
    kept = np.broadcast_to(seen, drawn.y.shape).astype(bool)
    repeated = data.times(copies)
    return replace(drawn, y=np.where(kept, repeated.y, drawn.y), d=np.where(kept, repeated.d, drawn.d))


SCHEMES: tuple[Scheme, ...] = (
    Scheme(
        "partial, proper, M = 5",
        "x, y, d drawn anew with parameters of their own, z kept",
        partial(partial_synthesis, copies=5, proper=True),
        fits=("reiter2003",),
        wrong=("rubin1987", "mean_se"),
    ),
    Scheme(
        "partial, plug-in, M = 5",
        "the same from a model fitted once",
        partial(partial_synthesis, copies=5, proper=False),
        fits=("reiter2003",),
        wrong=("rubin1987", "raghunathan2003"),
    ),
    Scheme(
        "missing data, m = 5",
        "y and d missing for 40% of the records (depending on z) and imputed",
        partial(imputed, imputations=5),
        fits=("rubin1987",),
        wrong=("reiter2003", "mean_se"),
    ),
    Scheme(
        "missing data, then partial, m = 5, r = 5",
        "imputed as before, then x, y, d drawn anew",
        partial(imputed_then_synthesised, imputations=5, copies=5),
        fits=("reiter2004",),
        wrong=("reiter2003", "rubin1987"),
        nests=5,
    ),
    Scheme(
        "missing data in two stages, m = 5, r = 4",
        "y and d missing for half of the records, imputed for one half of these, then for the other",
        partial(imputed_twice, first=5, second=4),
        fits=("rubin2003",),
        wrong=("rubin1987", "reiter2003"),
        nests=5,
    ),
    Scheme(
        "full, plug-in, M = 1",
        "every column drawn anew from a model fitted once",
        partial(full_synthesis, copies=1, proper=False),
        fits=("raab2016", "raab2016_sample"),
        wrong=("mean_se",),
    ),
    Scheme(
        "full, plug-in, M = 5",
        "the same",
        partial(full_synthesis, copies=5, proper=False),
        fits=("raab2016", "raab2016_sample", "reiter2003"),
        wrong=("raghunathan2003", "rubin1987"),
    ),
    Scheme(
        "full, proper, M = 5",
        "every column drawn anew with parameters of its own",
        partial(full_synthesis, copies=5, proper=True),
        fits=("raab2016_proper", "raab2016_sample_proper", "reiter2003"),
        known=("raghunathan2003",),
        wrong=("raab2016", "rubin1987"),
    ),
    Scheme(
        "full, proper, M = 20",
        "the same",
        partial(full_synthesis, copies=20, proper=True),
        fits=("raab2016_proper",),
        known=("raghunathan2003",),
        wrong=("mean_se", "rubin1987"),
    ),
    Scheme(
        "full, proper, M = 100",
        "the same",
        partial(full_synthesis, copies=100, proper=True),
        fits=("raghunathan2003", "raab2016_proper"),
        wrong=("rubin1987",),
    ),
    Scheme(
        "full, proper, twice the records, M = 100",
        "the same, copies of 2n records",
        partial(full_synthesis, copies=100, proper=True, size=2),
        fits=("raghunathan2003", "raab2016_proper"),
        wrong=("reiter2003", "mean_se"),
        ratio=2.0,
    ),
    Scheme(
        "masked, W drawn 5 times, r = 4",
        f"y and d drawn given x, z and W; mask sd {MASK_SD:g}, shift {MASK_SHIFT:g}",
        partial(masked, draws=5, copies=4),
        fits=("reiter2003_nested",),
        wrong=("reiter2003", "mean_se"),
        nests=5,
    ),
    Scheme(
        "masked, W drawn once, M = 20",
        "the same W for all copies",
        partial(masked, draws=1, copies=20),
        wrong=("reiter2003",),
    ),
)
CASES = tuple((scheme, rule, standing) for scheme in SCHEMES for rule, standing in scheme.rules)
