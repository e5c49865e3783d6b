"""How often a verdict that rests on a sample of the records is wrong, in both directions."""

import numpy as np
import pytest

from synthdp.evaluation.gate.tally import Bound, Tally

RECORDS, TARGETS, DRAWS, LIMIT, RUNS = 10**6, 400, 12, 0.03, 500


def bound(rate: float, share: float, rng: np.random.Generator) -> Bound:
    """Return what the tally says where a share of the records is at risk, and on average that many are found."""
    tally = Tally(np.ones(TARGETS, dtype=bool), RECORDS)
    at_risk = rng.random(TARGETS) < share
    for _ in range(DRAWS):
        found = (at_risk & (rng.random(TARGETS) < rate / share)).astype(float)
        tally.add(found, np.full(TARGETS, 0.5), found)
    return tally.expected()


def refused(rate: float, share: float) -> float:
    rng = np.random.default_rng(4)
    highs = [bound(rate, share, rng).high for _ in range(RUNS)]
    return float(np.mean([high is not None and high > LIMIT for high in highs]))


def within(seen: float, expected: float) -> bool:
    return seen <= expected + 4 * np.sqrt(expected * (1 - expected) / RUNS)


# of those who can be found, each is found always, now and then, or everybody is alike
@pytest.mark.parametrize("share", [LIMIT, 0.3, 1.0])
def test_a_mechanism_at_its_limit_hardly_ever_passes(share: float) -> None:
    """The upper end of a 95% interval is below the truth in 2.5 of 100, and a little more where finds are few."""
    assert within(1 - refused(LIMIT, share), 0.05)


@pytest.mark.parametrize("share", [LIMIT / 2, 0.3, 1.0])
def test_twice_the_limit_never_passes(share: float) -> None:
    assert refused(2 * LIMIT, max(share, 2 * LIMIT)) >= 0.995


@pytest.mark.parametrize(("rate", "share"), [(0.0005, 0.0005), (0.005, 0.005), (0.005, 1.0)])
def test_a_harmless_one_is_hardly_ever_refused(rate: float, share: float) -> None:
    assert within(refused(rate, share), 0.01)


def test_nobody_found_is_no_certainty() -> None:
    tally = Tally(np.ones(TARGETS, dtype=bool), RECORDS)
    nobody = np.zeros(TARGETS)
    for _ in range(DRAWS):
        tally.add(nobody, np.full(TARGETS, np.nan), nobody)
    assert tally.expected().high == pytest.approx(3 / TARGETS, rel=1e-3)
    assert tally.mean_individual().high == pytest.approx(3 / TARGETS, rel=1e-3)


def test_a_whole_file_has_no_sampling_error() -> None:
    rng = np.random.default_rng(1)
    drawn = [rng.random(50) for _ in range(DRAWS)]
    whole, sample = Tally(), Tally(records=50)
    for one in drawn:
        for tally in (whole, sample):
            tally.add(one, one, one)
    assert whole.expected() == sample.expected()
