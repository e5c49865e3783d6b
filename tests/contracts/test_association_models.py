"""Every association model keeps the contract of models."""

import pytest

from synthdp import plugins
from synthdp.imputation.auto.model import Auto
from synthdp.imputation.copula.model import Copula
from synthdp.imputation.pymc.program import Pymc
from synthdp.imputation.regression.association import Regression
from synthdp.imputation.regression.forward import NormLogit
from synthdp.imputation.trees.cart import Cart
from synthdp.imputation.trees.masked import MaskedCart
from synthdp.testing import FORWARD_MODEL, MODEL
from synthdp.testing.synthesis import full_information_gives_the_original

JOINT = {
    "regression": Regression(),
    "auto": Auto(),
    # with full information too: given its own earlier values a record is a donor of its own leaf, with positive mass
    "cart": MaskedCart(),
    "copula": Copula(least_ess=2, most_r_hat=5),
    # short chains: the contract is about draws, not about how well the posterior is known
    "pymc": Pymc(draws=100, tune=100, least_ess=10, most_r_hat=1.5),
}
FORWARD = {"cart": Cart(), "regression": NormLogit()}


def test_every_model_is_covered():
    assert set(JOINT) == set(plugins.names("models"))
    assert set(FORWARD) == set(plugins.names("models", "sequential"))


# PyMC compiles a program per column in every fit
@pytest.mark.parametrize("name", ["regression", "auto", "cart", "copula", pytest.param("pymc", marks=pytest.mark.slow)])
@pytest.mark.parametrize("check", MODEL)
def test_model(check, name):
    if name == "auto" and check is full_information_gives_the_original:
        pytest.skip("numbers that fewer than five people share are smoothed, whatever W says (see test_auto)")
    check(JOINT[name])


@pytest.mark.parametrize("name", FORWARD)
@pytest.mark.parametrize("check", FORWARD_MODEL)
def test_forward_model(check, name):
    check(FORWARD[name])
