"""The panel of small regressions against statsmodels, at its ends, and always the same for the same generator."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from synthdp.errors import InputError
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.utility.analyses import ci_overlap
from synthdp.evaluation.utility.panel import REGRESSIONS, Small, Term, draw_panel, evaluate_panel
from synthdp.inference.combining import combine
from synthdp.inference.estimates import Estimates
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable

N = 240
REPLACED = {name: Variable(role="replace") for name in ("age", "sex", "site", "pay")}


def rng(seed: int = 3) -> np.random.Generator:
    return np.random.default_rng(seed)


def people(seed: int = 1) -> pd.DataFrame:
    draw = rng(seed)
    age = draw.normal(50, 12, N)
    sex = draw.choice(["F", "M"], N)
    pay = 1000 + 30 * age + 300 * (sex == "M") + draw.normal(0, 200, N)
    pay[:5] = np.nan
    return pd.DataFrame(
        {
            "age": age,
            "sex": sex,
            "site": draw.choice(list("abc"), N, p=[0.5, 0.3, 0.2]),
            "pay": pay,
            "born": pd.Timestamp("1950-01-01") + pd.to_timedelta(draw.integers(0, 9000, N), unit="D"),
            "kids": draw.poisson(1.5, N),
        }
    )


def files(*copies: pd.DataFrame, **more: Any) -> Comparison:
    data = resolve(people(), REPLACED)
    return Comparison(data.frame, copies or (data.frame, data.frame), data.schema, aligned=True, **more)


def shuffled(seed: int) -> pd.DataFrame:
    """Return a file with the right margins and nothing else."""
    draw = rng(seed)
    return people().apply(lambda series: draw.permutation(series.to_numpy()))


def panel(comparison: Comparison, rule: str = "reiter2003", seed: int = 0) -> dict[str, Any]:
    return evaluate_panel(comparison, default_rule=rule, rng=rng(seed))


def value(term: Term, frame: pd.DataFrame) -> np.ndarray:
    """Return the term by pandas alone."""
    series = frame[term.column.name]
    if term.level is not None:
        return (series == term.column.levels[term.level]).astype(float).to_numpy()
    if pd.api.types.is_datetime64_any_dtype(series):
        return ((series - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)).to_numpy()
    return series.to_numpy(dtype=float)


def by_statsmodels(small: Small, frame: pd.DataFrame) -> Any:
    y, *x = (value(term, frame) for term in (small.response, *small.predictors))
    design = sm.add_constant(np.column_stack(x))
    return sm.OLS(y, design, missing="drop").fit(cov_type="HC1", use_t=True)


def test_it_is_what_statsmodels_gives() -> None:
    draw = rng(5)
    copies = [people(seed).assign(site=draw.choice(list("abc"), N)) for seed in (2, 3, 4)]
    comparison = files(*copies)
    found = panel(comparison)
    wanted, lines = [], []
    for small in draw_panel(comparison, rng=rng(0)):
        original, *made = (by_statsmodels(small, frame) for frame in (people(), *copies))
        slopes = [
            Estimates(
                tuple(term.name for term in small.predictors),
                fit.params[1:],
                fit.cov_params()[1:, 1:],
                float(fit.df_resid),
                int(fit.nobs),
            )
            for fit in made
        ]
        pooled = combine(slopes, "reiter2003", 0.95)
        low, high = original.conf_int(0.05)[1:].T
        overlap = np.clip(ci_overlap(low, high, pooled.low, pooled.high), 0, 1)
        wanted.append(overlap)
        lines.append({"formula": small.formula, "overlap": pytest.approx(overlap.mean(), abs=1e-6)})
    every = np.concatenate(wanted)
    # dates are numbers of five digits, so both sides lose some of sixteen
    assert found["regressions"] == lines
    assert found["mean"] == pytest.approx(every.mean(), abs=1e-6)
    assert found["worst"] == pytest.approx(every.min(), abs=1e-6)
    assert found["n"] == len(every)


def test_the_same_generator_draws_the_same_regressions() -> None:
    first, second, other = (
        [small.formula for small in draw_panel(comparison, rng=rng(seed))]
        for comparison, seed in ((files(), 0), (files(shuffled(1)), 0), (files(), 1))
    )
    assert first == second
    assert first != other
    assert len(set(first)) == len(first) == REGRESSIONS


def test_every_regression_has_a_replaced_column_and_one_to_three_columns() -> None:
    drawn = draw_panel(files(), rng=rng(2), regressions=200)
    for small in drawn:
        columns = {term.column.name for term in (small.response, *small.predictors)}
        assert columns & set(REPLACED)
        assert 1 <= len({term.column.name for term in small.predictors}) <= 3
        assert small.response.column.name not in {term.column.name for term in small.predictors}
    # columns of all kinds are asked about, and levels are told by their place, never by their name
    assert {term.column.name for small in drawn for term in small.predictors} == set(people().columns)
    assert not any(f"[{level}]" in small.formula for small in drawn for level in "abcFM")


def test_the_original_against_itself_agrees_and_worthless_copies_do_not() -> None:
    itself = panel(files())
    # reiter2003 with b = 0 has the original's own variance; only the reference distribution differs
    assert itself["mean"] == pytest.approx(1.0, abs=0.01)
    assert itself["worst"] > 0.98
    constant = people().assign(age=50.0, pay=2000.0, sex="F", site="a")
    nothing = panel(files(constant, constant))
    # what a copy does not determine counts 0
    assert nothing["mean"] < 0.1
    assert nothing["worst"] == 0
    mixed_up = panel(files(shuffled(1), shuffled(2)))
    assert mixed_up["worst"] == 0
    assert mixed_up["mean"] < itself["mean"] - 0.15


def test_disjoint_intervals_count_nothing_and_not_less() -> None:
    far = people().assign(pay=lambda frame: -1000 * frame["age"])
    found = panel(files(far, far))
    assert found["worst"] == 0
    assert all(0 <= line["overlap"] <= 1 for line in found["regressions"])


def test_one_copy_and_several_originals() -> None:
    assert panel(files(people()))["mean"] > 0.9
    nested = files(*[people(seed) for seed in (2, 3, 4, 5)], nests=2)
    assert 0 < panel(nested, "reiter2004")["mean"] < 1


def test_units_do_not_matter() -> None:
    def scaled(factor: float) -> dict[str, Any]:
        frames = [people(seed).assign(pay=lambda frame: factor * frame["pay"]) for seed in (1, 2, 3)]
        data = resolve(frames[0], REPLACED)
        return panel(Comparison(data.frame, tuple(frames[1:]), data.schema, aligned=True))

    assert scaled(1e9)["mean"] == pytest.approx(scaled(1.0)["mean"], abs=1e-6)


def test_what_cannot_be_asked_is_said() -> None:
    kept = resolve(people(), {})
    with pytest.raises(InputError, match=r"^panel: no column was replaced"):
        panel(Comparison(kept.frame, (kept.frame,), kept.schema, aligned=True))
    alone = resolve(people()[["age"]], {"age": Variable(role="replace")})
    with pytest.raises(InputError, match=r"^panel: needs at least two columns that vary"):
        panel(Comparison(alone.frame, (alone.frame,), alone.schema, aligned=True))
    empty = people().assign(age=np.where(np.arange(N) < 120, people()["age"], np.nan))
    empty["pay"] = np.where(np.arange(N) < 120, np.nan, people()["pay"])
    never = resolve(empty[["age", "pay"]], {"age": Variable(role="replace")})
    with pytest.raises(InputError, match=r"^panel: no regression of these columns can be estimated"):
        panel(Comparison(never.frame, (never.frame,), never.schema, aligned=True))
