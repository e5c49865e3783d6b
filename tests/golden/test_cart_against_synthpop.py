"""Our CART copies beside the five that R synthpop 1.9-3 made of the same file (``syn(method = "cart")``, m = 5).

All seven columns are replaced in file order, with synthpop's minbucket and cp.
"""

import json

import numpy as np
import pandas as pd
import pytest
from shared_data import SHARED

from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.utility.propensity import evaluate_propensity
from synthdp.imputation.trees.cart import Cart
from synthdp.seeding import Streams
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.sequential import Sequential
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import tag

FOLDER = SHARED / "published" / "synthpop"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the published synthpop files are not here")

SLOPES = 23


@pytest.fixture(scope="module", params=[True, False], ids=["smoothed", "donors"])
def propensity(request):
    original = pd.read_csv(FOLDER / "original.csv")
    data = resolve(original, {name: Variable(role="replace") for name in original.columns})
    method = Sequential(model=Cart(smoothing=request.param, min_leaf=5, dealing="independent"), copies=5)
    made = method.synthesize(Plan(data, tag(data, None)), streams=Streams(1))
    comparison = Comparison(original, made.copies, data.schema, aligned=False)
    return evaluate_propensity(comparison, rng=np.random.default_rng(1))


def test_as_hard_to_tell_from_the_original_as_synthpops(propensity):
    theirs = json.loads((FOLDER / "expected.json").read_text())["utility_gen_logit_main_effects"]
    ours = propensity["pmse"]["logit"]
    assert ours["value"] <= max(theirs["pmse"])
    assert max(ours["per_copy"]) <= max(theirs["pmse"])
    assert propensity["specks"]["value"] <= max(theirs["specks"])


def test_the_ratio_is_that_of_draws_from_the_fitted_model(propensity):
    """Plug-in draws give a chi-square over its degrees of freedom: mean 1, variance 2/23 per copy."""
    assert abs(propensity["pmse"]["logit"]["ratio"] - 1) < 4 * np.sqrt(2 / SLOPES / 5)
