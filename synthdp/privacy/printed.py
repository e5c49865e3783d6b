"""What the source's theorems on leakage say, as printed and with n² for n; none of it is relied on, see `leakage`."""

import math

import numpy as np

from synthdp.errors import InputError
from synthdp.privacy.influence import Attack, Form, Knowledge, Series


def printed(
    series: Series,
    epsilon: list[float],
    delta: list[float],
    logs: list[float],
    step: float,
    attack: Attack,
    knowledge: Knowledge,
    form: Form,
    unit: int,
) -> tuple[float, float]:
    """Return (ε', δ') of the source's theorems; for A3 with both those of its proof."""
    divisor = series.n if form == "printed" else series.n**2
    if (attack, knowledge) in (("A1", "N1"), ("A2", "N2")):
        own = 0 if attack == "A1" else 1
        return epsilon[own], delta[own]
    if (attack, knowledge) == ("A4", "N3"):
        return sum(epsilon), _product(delta, epsilon[0], epsilon[1])
    if (attack, knowledge) not in (("A1", "N2"), ("A1", "N3"), ("A2", "N1"), ("A3", "N3")):
        raise InputError(f"{attack} with {knowledge}: the source has no formula for it; use form exact.")
    other = 0 if attack == "A2" else 1
    sums, variance = series.moved(attack, unit)
    hidden = math.sqrt((step / epsilon[other]) ** 2 + variance / (divisor * logs[other]))
    found = [float(each) for each in np.abs(sums) * step / hidden]
    if knowledge != "N3":
        return found[0], delta[other]
    if attack == "A1":
        return epsilon[0] + found[0], _product(delta, epsilon[0], found[0])
    whole = (
        delta[0] * math.fsum(_grown(j * epsilon[0]) for j in range(series.n)),
        delta[1] * math.fsum(_grown(math.fsum(found[:j])) for j in range(series.n)),
    )
    total = series.n * epsilon[0]
    return total + math.fsum(found), _product(list(whole), total, math.fsum(found))


def _product(delta: list[float], first: float, second: float) -> float:
    return min(1.0, _grown(first) * delta[1] + _grown(second) * delta[0] + delta[0] * delta[1])


def _grown(epsilon: float) -> float:
    # a δ of 1 is reached long before
    return math.exp(min(epsilon, 700.0))
