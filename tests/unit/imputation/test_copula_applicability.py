"""The copula and columns that do not apply to everyone: missing where they do not apply, drawn where they do."""

import numpy as np
import pandas as pd
import pytest

from synthdp.imputation.copula.coding import Coding
from synthdp.imputation.copula.model import Copula
from synthdp.masking.categorical import Transition
from synthdp.masking.gaussian import Gaussian
from synthdp.seeding import Streams
from synthdp.synthesis.imputed import DaMi, Mi
from synthdp.synthesis.making import make
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.sampler import prepare
from synthdp.table.applies import broken, settled
from synthdp.table.microdata import Microdata, resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import Neighbours, tag

QUICK = Copula(least_ess=2, most_r_hat=5)
MASKS = {"income": Gaussian(sd=0.3), "age": Gaussian(sd=0.5), "sector": Transition(keep=0.7)}


def people(n: int = 300, *, gaps: bool = False) -> pd.DataFrame:
    """Return income, sector and manager of those who work, and bonus of managers; a tenth missing if asked."""
    rng = np.random.default_rng(3)
    age = rng.normal(size=n)
    works = age + rng.normal(size=n) > -0.5
    manager = np.where(rng.random(n) < 0.5, "yes", "no")
    frame = pd.DataFrame(
        {
            "age": age,
            "works": np.where(works, "YES", "NO"),
            "income": np.where(works, 2 + 0.8 * age + 0.6 * rng.normal(size=n), np.nan),
            "sector": np.where(works, rng.choice(["a", "b", "c"], n), None),
            "manager": np.where(works, manager, None),
            "bonus": np.where(works & (manager == "yes"), rng.exponential(size=n), np.nan),
            "z": rng.normal(size=n),
        }
    )
    if gaps:
        for name in ("income", "works", "z", "manager"):
            frame.loc[rng.random(n) < 0.1, name] = None
        frame.loc[frame["works"].isna(), ["income", "sector", "manager"]] = None
        frame.loc[frame["manager"] != "yes", "bonus"] = np.nan
    return frame


def plan_of(frame: pd.DataFrame, replaced=("age", "works", "income", "sector"), masks=MASKS) -> Plan:
    conditions = dict.fromkeys(("income", "sector", "manager"), "works == 'YES'") | {"bonus": "manager == 'yes'"}
    if "works" in replaced:  # what is kept may depend on kept columns only
        replaced = (*replaced, "manager", "bonus")
    variables = {
        name: Variable(role="replace" if name in replaced else "keep", applies_when=conditions.get(name))
        for name in frame.columns
    }
    data = resolve(frame, variables)
    data = Microdata(data.frame, settled(data.schema))
    return Plan(data, tag(data, Neighbours(k=3)), {name: mask for name, mask in masks.items() if name in replaced})


def assert_applies(copy: pd.DataFrame, plan: Plan, *, complete: bool) -> None:
    assert broken(copy, plan.data.schema) == {}
    if complete:
        works = copy["works"] == "YES"
        for name in ("income", "sector", "manager"):
            assert copy[name].notna().equals(works)
        assert copy["bonus"].notna().equals(copy["manager"] == "yes")


@pytest.mark.parametrize("replaced", [("income",), ("age", "income", "sector"), ("age", "works", "income", "sector")])
@pytest.mark.parametrize("mask_draw", ["per_copy", "once", "once_orthogonal"])
def test_missing_exactly_where_it_does_not_apply(replaced, mask_draw):
    masks = MASKS if mask_draw != "once_orthogonal" else {"income": MASKS["income"]}
    plan = plan_of(people(), replaced, masks)
    method = DaMi(model=QUICK, copies=2, mask_draw=mask_draw)
    assert method.problems(plan) == []
    for copy in make(method, plan, streams=Streams(1)).copies:
        assert_applies(copy, plan, complete=True)
        moved = not copy["works"].equals(plan.data.frame["works"])
        assert moved == ("works" in replaced)


def test_applies_when_through_bounds_of_the_copys_own_values():
    frame = people().assign(works=lambda f: f["age"] > 0)
    frame["income"] = frame["income"].where(frame["works"])
    data = resolve(
        frame[["age", "income", "z"]],
        {"age": Variable(role="replace"), "income": Variable(role="replace", applies_when="age > 0")},
    )
    plan = Plan(data, tag(data, Neighbours(k=3)), {"age": MASKS["age"]})
    found = frame["income"].isna() & (frame["age"] > 0)
    for copy in make(DaMi(model=QUICK, copies=2), plan, streams=Streams(1)).copies:
        assert (copy["income"].notna() == (copy["age"] > 0)).all()
    assert found.any()  # an ordinary gap of a replaced column is filled in


@pytest.mark.parametrize("replaced", [("age",), ("age", "income")])
@pytest.mark.parametrize(("m", "missing"), [(1, "keep"), (1, "impute"), (2, "impute")])
def test_a_skip_is_never_imputed_and_a_gap_is_when_asked(replaced, m, missing):
    frame = people(gaps=True)
    plan = plan_of(frame, replaced)
    method = DaMi(model=QUICK, copies=2, imputations=m, missing=missing)
    assert method.problems(plan) == []
    for copy in make(method, plan, streams=Streams(1)).copies:
        assert_applies(copy, plan, complete=missing == "impute")
        # what was known not to apply stays so
        assert copy.loc[frame["works"] == "NO", ["income", "sector", "manager"]].isna().all(axis=None)
        if missing == "keep":
            for name in ("works", "z", "manager", "bonus", "sector"):
                assert copy[name].isna().equals(frame[name].isna())


def test_margins_are_those_of_the_records_it_applies_to():
    plan = plan_of(people(gaps=True), ("age", "income"))
    task, _ = prepare(plan, QUICK, 5)
    coding = Coding.of(task, (), 1.0)
    y = np.random.default_rng(1).normal(size=coding.latent(coding.curves(np.ones(300))).lower.shape)
    coding = coding.filled(y, coding.curves(np.ones(300)))
    income = next(item for item in coding.items if item.column.name == "income")
    works = (plan.data.frame["works"] == "YES").to_numpy()
    assert ((income.margin.filled >= 0) == works).all()
    assert (income.missing() & works).any()
    assert next(item for item in coding.items if item.column.name == "z").applies is None


@pytest.mark.slow
def test_what_holds_of_those_it_applies_to_holds_in_the_copies():
    def estimates(frame: pd.DataFrame) -> np.ndarray:
        working = frame[frame["works"] == "YES"]
        slope, constant = np.polyfit(working["age"], working["income"], 1)
        return np.array([len(working) / len(frame), working["income"].mean(), slope, constant])

    frame = people(800)[["age", "works", "income", "z"]]
    plan = plan_of(frame, ("age", "works", "income"), {"income": Gaussian(sd=0.3)})
    model = Copula(least_ess=20, most_r_hat=1.2)
    for method in (DaMi(model=model, copies=10), Mi(model=model, copies=10)):
        found = np.stack([estimates(copy) for copy in make(method, plan, streams=Streams(5)).copies])
        n = int((frame["works"] == "YES").sum())
        # what an analyst's own standard errors are here; the copula smooths, which moves them by less than one
        se = np.array([np.sqrt(0.24 / 800), 1.0 / np.sqrt(n), 0.6 / np.sqrt(0.7 * n), 0.6 / np.sqrt(n)])
        error = np.sqrt(found.var(axis=0, ddof=1) / 10)
        assert (np.abs(found.mean(axis=0) - estimates(frame)) < se + 4 * error).all()
