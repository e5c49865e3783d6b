"""Every association model keeps the contract of models."""

import pytest

from synthdp import plugins
from synthdp.imputation.copula.model import Copula
from synthdp.imputation.regression.association import Regression
from synthdp.imputation.regression.forward import NormLogit
from synthdp.imputation.trees.cart import Cart
from synthdp.imputation.trees.masked import MaskedCart
from synthdp.testing import FORWARD_MODEL, MODEL

JOINT = {"regression": Regression(), "cart": MaskedCart(), "copula": Copula(least_ess=2, most_r_hat=5)}
# donors are values that occur, and a chain of particles need not find the one that W points at
NO_DONORS = ("full_information_gives_the_original",)
FORWARD = {"cart": Cart(), "regression": NormLogit()}


def test_every_model_is_covered():
    # models of the user's own families need PyMC's samplers: their ends are tested in tests/statistical
    assert {*JOINT, "pymc"} == set(plugins.names("models"))
    assert set(FORWARD) == set(plugins.names("models", "sequential"))


@pytest.mark.parametrize("name", JOINT)
@pytest.mark.parametrize("check", MODEL)
def test_model(check, name):
    if name == "cart" and check.__name__ in NO_DONORS:
        pytest.skip("trees draw donors")
    check(JOINT[name])


@pytest.mark.parametrize("name", FORWARD)
@pytest.mark.parametrize("check", FORWARD_MODEL)
def test_forward_model(check, name):
    check(FORWARD[name])
