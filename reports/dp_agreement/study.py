"""Do noise scales and composed ε agree with OpenDP, dp-accounting and diffprivlib? 50 random settings each, one table.

diffprivlib does not run beside current scikit-learn; its values are made in an environment of its own by
``reports/dp_agreement/diffprivlib_values.py`` and read from the JSON beside it.
"""

import json
import math
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from reports.cells import Cell
from reports.markdown import table_of
from reports.study import Results, Study
from synthdp.privacy import events
from synthdp.privacy.accounting import accountants, closed_forms
from synthdp.privacy.accounting.accountants import least_noise
from synthdp.privacy.mechanisms import (
    BoundedLaplace,
    Bounds,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Kary,
    Laplace,
    Secure,
    Sensitivity,
)
from synthdp.seeding import Streams

SETTINGS = 50
DRAWS = 20_000
Pair = tuple[float, float]


class Comparison(NamedTuple):
    """One quantity, worked out by us and by another library; ``same`` when both claim the same number."""

    peer: str
    quantity: str
    same: bool
    draw: Callable[[np.random.Generator], Pair]


def _strength(rng: np.random.Generator, low: float = 0.02, high: float = 5.0) -> float:
    return float(np.exp(rng.uniform(math.log(low), math.log(high))))


def _small(rng: np.random.Generator) -> float:
    return float(10 ** rng.uniform(-9, -2))


def _moved(value: float, norm: Any) -> Sensitivity:
    return Sensitivity(value, norm, "replace")


def _laplace(e: float, s: float) -> float:
    return Laplace.calibrated(_moved(s, "l1"), epsilon=e).scale


def _geometric(e: float, s: float) -> float:
    return DiscreteLaplace.calibrated(_moved(s, "l1"), epsilon=e).scale


def _analytic(e: float, d: float, s: float = 1.0) -> float:
    return Gaussian.calibrated(_moved(s, "l2"), epsilon=e, delta=d).sd


def _opendp() -> Any:
    import opendp.prelude as opendp

    opendp.enable_features("contrib")
    return opendp


def opendp_comparisons() -> list[Comparison]:
    """Return the comparisons with OpenDP: its own search for the noise, its own maps."""
    dp = _opendp()
    real = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    whole = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    scores = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.linf_distance(T=float)

    def laplace(rng: np.random.Generator) -> Pair:
        e, s = _strength(rng), _strength(rng, 0.01, 100)
        theirs = dp.binary_search_param(lambda b: dp.m.make_laplace(*real, scale=b), d_in=s, d_out=e)
        return _laplace(e, s), theirs

    def discrete(rng: np.random.Generator) -> Pair:
        e, s = _strength(rng), int(rng.integers(1, 20))
        theirs = dp.binary_search_param(lambda b: dp.m.make_laplace(*whole, scale=b), d_in=s, d_out=e)
        return _geometric(e, s), theirs

    def gaussian(rng: np.random.Generator) -> Pair:
        rho, s = _strength(rng, 1e-4, 2), _strength(rng, 0.01, 100)
        theirs = dp.binary_search_param(lambda b: dp.m.make_gaussian(*real, scale=b), d_in=s, d_out=rho)
        return Gaussian.concentrated(_moved(s, "l2"), rho=rho).sd, theirs

    def choice(rng: np.random.Generator) -> Pair:
        e, s = _strength(rng), _strength(rng, 0.01, 100)
        ours = Exponential.calibrated(_moved(s, "linf"), epsilon=e)
        return ours.rho, dp.m.make_noisy_max(*scores, dp.zero_concentrated_divergence(), scale=ours.scale).map(s)

    def response(rng: np.random.Generator) -> Pair:
        e, k = _strength(rng), int(rng.integers(2, 12))
        ours = Kary.calibrated(k, epsilon=e)
        return ours.epsilon, dp.m.make_randomized_response([str(j) for j in range(k)], ours.matrix[0, 0]).map(1)

    def gaussians(rng: np.random.Generator, *, exact: bool) -> Pair:
        k, sd, d = int(rng.integers(2, 40)), _strength(rng, 2, 50), _small(rng)
        joined = dp.c.make_composition([dp.m.make_gaussian(*real, scale=sd)] * k)
        theirs = dp.c.make_zCDP_to_approxDP(joined).map(1.0).epsilon(d)
        if exact:
            return accountants.epsilon(events.Repeated(events.Gaussian(1 / sd), k), d), theirs
        return closed_forms.epsilon_of_rho(k / (2 * sd**2), d, method="tight"), theirs

    def added(rng: np.random.Generator) -> Pair:
        parts = [_strength(rng, 0.05, 2) for _ in range(int(rng.integers(2, 12)))]
        joined = dp.c.make_composition([dp.m.make_laplace(*real, scale=1 / e) for e in parts])
        return accountants.epsilon(events.Composed(tuple(map(events.Laplace, parts))), 0.0), joined.map(1.0)

    return [
        Comparison("OpenDP", "Laplace scale for ε", True, laplace),
        Comparison("OpenDP", "discrete Laplace scale for ε", True, discrete),
        Comparison("OpenDP", "Gaussian sd for ρ", True, gaussian),
        Comparison("OpenDP", "exponential mechanism: ρ at our scale", True, choice),
        Comparison("OpenDP", "k-ary response: ε at our probabilities", True, response),
        Comparison("OpenDP", "ε of k Laplace, δ = 0", True, added),
        Comparison("OpenDP", "ε of k Gaussian by zCDP", True, partial(gaussians, exact=False)),
        Comparison("OpenDP", "ε of k Gaussian, ours exact", False, partial(gaussians, exact=True)),
    ]


def accounting_comparisons() -> list[Comparison]:
    """Return the comparisons with dp-accounting's accountants, called as its users call them."""
    import dp_accounting
    from dp_accounting.pld import PLDAccountant, privacy_loss_distribution
    from dp_accounting.pld.common import DifferentialPrivacyParameters
    from dp_accounting.rdp import RdpAccountant

    either = dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE
    replaced = dp_accounting.NeighboringRelation.REPLACE_ONE

    def by_loss(parts: list[tuple[Any, int]], d: float, relation: Any = either) -> float:
        accountant = PLDAccountant(relation)
        for event, times in parts:
            accountant.compose(event, times)
        return float(accountant.get_epsilon(d))

    def gaussian(rng: np.random.Generator) -> Pair:
        e, d = _strength(rng), _small(rng)
        return _analytic(e, d), float(dp_accounting.gaussian_mechanism.get_sigma_gaussian(e, d))

    def laplaces(rng: np.random.Generator) -> Pair:
        e, k, d = _strength(rng, 0.05, 0.5), int(rng.integers(2, 60)), _small(rng)
        ours = accountants.epsilon(events.Repeated(events.Laplace(e), k), d)
        return ours, by_loss([(dp_accounting.LaplaceDpEvent(1 / e), k)], d)

    def gaussians(rng: np.random.Generator) -> Pair:
        mu, k, d = _strength(rng, 0.02, 0.5), int(rng.integers(2, 60)), _small(rng)
        ours = accountants.epsilon(events.Repeated(events.Gaussian(mu), k), d)
        return ours, by_loss([(dp_accounting.GaussianDpEvent(1 / mu), k)], d)

    def mixed(rng: np.random.Generator) -> Pair:
        e, mu, d = _strength(rng, 0.05, 0.5), _strength(rng, 0.05, 1), _small(rng)
        ours = accountants.epsilon(events.Composed((events.Repeated(events.Laplace(e), 5), events.Gaussian(mu))), d)
        return ours, by_loss([(dp_accounting.LaplaceDpEvent(1 / e), 5), (dp_accounting.GaussianDpEvent(1 / mu), 1)], d)

    def responses(rng: np.random.Generator) -> Pair:
        e, levels, d = _strength(rng, 0.1, 1), int(rng.integers(2, 9)), _small(rng)
        ours = accountants.epsilon(events.RandomisedResponse(e, levels), d)
        lottery = levels / (math.expm1(e) + levels)
        return ours, by_loss([(dp_accounting.RandomizedResponseDpEvent(lottery, levels), 1)], d, replaced)

    def equal_pairs(rng: np.random.Generator) -> Pair:
        # ε on the peer's grid, so that its rounding up costs nothing
        e, d, k = round(_strength(rng, 0.05, 0.5), 3), _small(rng) / 100, int(rng.integers(2, 30))
        target = 1 - (1 - d) ** k + 1e-6
        one = privacy_loss_distribution.from_privacy_parameters(DifferentialPrivacyParameters(e, d))
        return closed_forms.optimal(e, d, k).epsilon(target), float(one.self_compose(k).get_epsilon_for_delta(target))

    def renyi(rng: np.random.Generator) -> Pair:
        mu, k, d = _strength(rng, 0.02, 0.5), int(rng.integers(2, 60)), _small(rng)
        accountant = RdpAccountant(neighboring_relation=either)
        accountant.compose(dp_accounting.GaussianDpEvent(1 / mu), k)
        return closed_forms.epsilon_of_rho(k * mu**2 / 2, d, method="tight"), float(accountant.get_epsilon(d))

    def calibrated(rng: np.random.Generator) -> Pair:
        e, k, d = _strength(rng, 0.5, 3), int(rng.integers(2, 20)), _small(rng)
        ours = least_noise(lambda sd: events.Repeated(events.Gaussian(1 / sd), k), epsilon=e, delta=d)
        theirs = dp_accounting.gaussian_mechanism.get_sigma_gaussian(e, d) * math.sqrt(k)
        return ours, float(theirs)

    name = "dp-accounting"
    return [
        Comparison(name, "analytic Gaussian sd for (ε, δ)", True, gaussian),
        Comparison(name, "ε of k Laplace by loss distribution", True, laplaces),
        Comparison(name, "ε of k Gaussian, ours exact", True, gaussians),
        Comparison(name, "ε of 5 Laplace and a Gaussian", True, mixed),
        Comparison(name, "ε of a k-ary response at δ", True, responses),
        Comparison(name, "ε of k equal (ε, δ), ours optimal composition", True, equal_pairs),
        Comparison(name, "ε of k Gaussian by zCDP, theirs Rényi on a list of orders", False, renyi),
        Comparison(name, "sd of k Gaussian by search", True, calibrated),
    ]


def stored_comparisons(path: Path) -> Iterator[tuple[str, str, bool, list[Pair]]]:
    """Yield the comparisons with diffprivlib's stored values."""
    if not path.exists():
        return
    found = json.loads(path.read_text(encoding="utf-8"))
    rows, peer = found["rows"], f"diffprivlib {found['version']}"

    def classical(e: float, d: float, s: float) -> float:
        return Gaussian.calibrated(_moved(s, "l2"), epsilon=e, delta=d, method="classical").sd

    def bounded(e: float, s: float, w: float) -> float:
        return BoundedLaplace.calibrated(_moved(s, "l1"), Bounds(0, w), epsilon=e).scale

    for key, words, ours in (
        ("laplace", "Laplace scale for ε", _laplace),
        ("geometric", "discrete Laplace scale for ε", _geometric),
        ("gaussian_classical", "classical Gaussian sd for (ε, δ)", classical),
        ("gaussian_analytic", "analytic Gaussian sd for (ε, δ)", _analytic),
        ("bounded", "bounded Laplace scale for ε", bounded),
    ):
        yield peer, words, True, [(ours(*row[:-1]), row[-1]) for row in rows[key]]
    simple = [(closed_forms.simplified([(e, 0.0)] * k, d)[0], theirs) for e, k, d, theirs, _ in rows["composed"]]
    yield peer, "ε of k equal ε by the simplified theorem", True, simple
    best = [(closed_forms.optimal(e, 0.0, k).epsilon(d), theirs) for e, k, d, theirs, _ in rows["composed"]]
    yield peer, "ε of k equal ε, ours optimal composition", False, best


def summarise(peer: str, quantity: str, same: bool, pairs: list[Pair]) -> dict[str, Any]:
    """Return the largest relative differences, ours against theirs, in both directions."""
    relative = np.array([ours / theirs - 1 for ours, theirs in pairs])
    return {
        "peer": peer,
        "quantity": quantity,
        "settings": len(pairs),
        "same_claim": same,
        "lowest": float(f"{relative.min():.2e}"),
        "highest": float(f"{relative.max():.2e}"),
    }


def speed(draws: int = DRAWS) -> dict[str, float]:
    """Return CPU seconds for a batch of secure Laplace noise, for OpenDP alone, and for a 100-fold composition."""
    dp = _opendp()
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l1_distance(T=float)
    alone, values = dp.m.make_laplace(*space, scale=1.0), np.zeros(draws)
    mechanism, source = Laplace(_moved(1.0, "l1"), 1.0), Secure()
    timings: dict[str, list[float]] = {"opendp_alone": [], "secure": []}
    for _ in range(3):
        for name, work in (
            ("opendp_alone", lambda: alone(values.tolist())),
            ("secure", lambda: mechanism.release(values, source=source)),
        ):
            began = time.process_time()
            work()
            timings[name].append(time.process_time() - began)
    began = time.process_time()
    accountants.cost(events.Composed(tuple(events.Laplace(0.05 + i / 1000) for i in range(100))), 1e-6)
    hundred = time.process_time() - began
    best = {name: round(min(found), 3) for name, found in timings.items()}
    return best | {"ratio": round(best["secure"] / best["opendp_alone"], 3), "hundred_fold": round(hundred, 3)}


def page(results: Results, settings: Results) -> str:
    """Return the page."""
    fast = results["speed"]
    return f"""# Agreement with other libraries

{settings["settings"]} random settings a line; `lowest` and `highest` are of ours/theirs − 1. Where `same_claim` is
True both libraries claim the same number and the difference is rounding or the peer's grid; where it is False one of
them has a better theorem, and a negative number is our advantage.
Regenerate: `python -m reports dp_agreement` (diffprivlib's values: `diffprivlib_values.py` here, in an
environment of its own).

{table_of(results["rows"])}

CPU seconds, best of three: {settings["draws"]} secure Laplace draws {fast["secure"]} s, OpenDP alone
{fast["opendp_alone"]} s (ratio {fast["ratio"]}); 100 different Laplace events composed in {fast["hundred_fold"]} s.
"""


def cells(count: int | None) -> Iterator[Cell]:
    """Yield every comparison that is drawn, those that are stored, and how long noise takes."""
    drawn = len(opendp_comparisons()) + len(accounting_comparisons())
    yield from ({"part": "drawn", "number": number, "settings": count or SETTINGS} for number in range(drawn))
    yield from ({"part": part} for part in ("stored", "speed"))


def one_cell(part: str, number: int = 0, settings: int = SETTINGS, *, seed: int) -> Any:
    """Return the rows of one part."""
    if part == "speed":
        return speed()
    if part == "stored":
        return [summarise(*found) for found in stored_comparisons(Path(__file__).with_name("diffprivlib.json"))]
    given = (*opendp_comparisons(), *accounting_comparisons())[number]
    rng = Streams(seed).generator("agreement", number)
    return [summarise(given.peer, given.quantity, given.same, [given.draw(rng) for _ in range(settings)])]


SEED = 8161
STUDY = Study(
    name="dp_agreement",
    cells=cells,
    work=partial(one_cell, seed=SEED),
    results=lambda lines: {
        "rows": [row for line in lines[:-1] for row in line["found"]],
        "speed": {name: value for name, value in lines[-1].items() if name != "part"},
    },
    page=page,
    settings={"draws": DRAWS, "seed": SEED},
    counts=lambda lines: {"settings": lines[0]["settings"]},
)
