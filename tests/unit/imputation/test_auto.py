"""The model auto beside enumeration and quadrature, what it chooses, and what it must not give away."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from synthdp.imputation.auto.columns import ColumnFit
from synthdp.imputation.auto.design import choose_products, products
from synthdp.imputation.auto.drawing import _heard
from synthdp.imputation.auto.levels import Levels, Told, corrections, log_shares
from synthdp.imputation.auto.model import Auto
from synthdp.imputation.auto.numbers import GROUP, Linear, Sorted, dealt, forward
from synthdp.imputation.cells import flat, released
from synthdp.imputation.trees.donors import Donors
from synthdp.masking.categorical import Transition
from synthdp.masking.evidence import GaussianEvidence, LevelEvidence
from synthdp.masking.gaussian import Gaussian
from synthdp.seeding import Streams
from synthdp.synthesis.imputed import DaMi, Mi
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.sampler import prepare
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import Neighbours, tag

N = 20_000


def planned(frame, masks=None, **variables):
    data = resolve(frame, {name: Variable.model_validate(said) for name, said in variables.items()})
    return Plan(data, tag(data, Neighbours(k=5)), masks or {})


def learnt(plan, settings=None):
    settings = settings or Auto()
    task = prepare(plan, settings, 1)[0]
    return task, settings.fit(task, rng=np.random.default_rng(1))


def silent(data):
    return {column.name: flat(column, len(data)) for column in data.schema.replaced()}


def within(found, expected, se):
    assert abs(found - expected) < 4 * se


# one column beside quadrature and enumeration


def mixture():
    offsets, mass = np.array([0, 3]), np.array([0.5, 0.3, 0.2])
    donors = Donors(offsets, np.array([-1.0, 0.2, 1.5]), np.array([0.2, 0.4, 0.1]), np.log(mass))
    wide = np.array([10.0])
    return donors, Linear(None, donors, np.zeros((1, 2)), {}, np.empty(0), -wide, wide)


@pytest.mark.parametrize(("w", "precision"), [(0.0, 0.0), (0.8, 1.0), (2.5, 8.0)])
def test_a_number_is_drawn_as_quadrature_says(w, precision):
    donors, part = mixture()
    mean, sd = 0.4, 0.7
    x = np.linspace(-8, 8, 40_001)
    prior = sum(
        np.exp(b) * stats.norm.pdf(x, mean + sd * m, sd * h)
        for m, h, b in zip(donors.value, donors.sd, donors.log_mass, strict=True)
    )
    density = prior * np.exp(-precision * (w - x) ** 2 / 2)
    step = x[1] - x[0]
    whole = density.sum() * step
    first, second = ((density * x**k).sum() * step / whole for k in (1, 2))
    fourth = (density * x**4).sum() * step / whole
    every = np.ones(N)
    shift = np.column_stack([mean * every, np.log(sd) * every])
    leaves = np.zeros(N, dtype=np.int64)
    drawn, norm = part.draw(leaves, shift, w * every, precision * every, rng=np.random.default_rng(3))
    assert norm == pytest.approx(np.log(whole), abs=1e-6)
    within(drawn.mean(), first, np.sqrt((second - first**2) / N))
    within((drawn**2).mean(), second, np.sqrt((fourth - second**2) / N))


@pytest.mark.parametrize("regressed", [True, False])
def test_a_level_is_drawn_as_enumeration_says(regressed):
    rng = np.random.default_rng(4)
    eta, table = rng.normal(size=(1, 3)), rng.normal(size=(2, 4))
    table[1, 2] = -np.inf
    heard = rng.normal(size=(1, 4))
    if regressed:
        share = np.exp(log_shares(eta)[0] + table[1])
        part = Levels(None, np.zeros((1, 3)), {}, table, None)
    else:
        share = np.array([0.1, 0.0, 0.6, 0.3])
        kept = np.array([0.0, 2.0, 3.0])
        mass = np.log(np.array([1.0, 0.1, 0.6, 0.3]))
        part = Levels(
            None, None, {}, np.empty((0, 0)), Donors(np.array([0, 1, 4]), np.r_[1.0, kept], np.zeros(4), mass)
        )
    share = share / share.sum()
    weighed = share * np.exp(heard[0])
    leaves = np.ones(N, dtype=np.int64)
    drawn, norm = part.draw(
        leaves,
        np.repeat(eta, N, axis=0),
        Told.of(np.repeat(heard, N, axis=0)),
        np.arange(N),
        rng=np.random.default_rng(5),
    )
    assert norm == pytest.approx(np.log(weighed.sum()))
    for level, p in enumerate(weighed / weighed.sum()):
        found = (drawn == level).mean()
        assert found == 0 if p == 0 else abs(found - p) < 4 * np.sqrt(p * (1 - p) / N)


def test_what_w_excludes_altogether_is_drawn_from_the_leaf():
    part = Levels(None, np.zeros((1, 1)), {}, np.array([[0.0, -np.inf]]), None)
    heard = np.array([[-np.inf, 0.0]] * 50)
    leaves = np.zeros(50, dtype=np.int64)
    drawn, norm = part.draw(leaves, np.zeros((50, 1)), Told.of(heard), np.arange(50), rng=np.random.default_rng(0))
    assert (drawn == 0).all()
    assert np.isneginf(norm).all()


def test_corrections_by_hand():
    # leaf 0: four records expect 2 and 2, seen 3 and 1; leaf 1: eight expect 4 and 4, all have the first
    leaf = np.repeat([0, 1], [4, 8])
    y = np.array([0, 0, 0, 1] + [0] * 8)
    table = corrections(leaf, 2, y, np.full((12, 2), np.log(0.5)), np.ones(12))
    assert np.exp(table[0]) == pytest.approx([3.5 / 2.5, 1.5 / 2.5])
    assert np.exp(table[1]) == pytest.approx([8.5 / 4.5, 0.0])


def test_a_level_that_was_hardly_expected_stays_possible():
    table = corrections(
        np.zeros(4, dtype=np.int64), 1, np.zeros(4, dtype=np.int64), np.full((4, 2), np.log(0.5)), np.ones(4)
    )
    assert np.isfinite(table).all()


def test_dealt_numbers_are_even_within_a_cell_and_uniform_each():
    rng = np.random.default_rng(6)
    cells = rng.integers(0, 5, 400)
    for cell, found in ((c, dealt(cells, rng=rng)[cells == c]) for c in range(5)):
        assert sorted(np.floor(found * (cells == cell).sum()).astype(int)) == list(range(len(found)))
    several = np.array([dealt(np.array([0, 1, 0, 0]), rng=rng) for _ in range(3000)])
    for one in several.T:
        assert stats.kstest(one, "uniform").pvalue > 1e-4


def test_groups_have_at_least_five_neighbours():
    rng = np.random.default_rng(7)
    residual, cell = rng.normal(size=203), np.repeat([0, 1, 2], [7, 14, 182])
    rows = rng.permutation(203)
    parts = Sorted.of(rows, cell, 3, residual)
    assert np.diff(np.append(parts.starts, 203)).min() >= GROUP
    for begin, end in zip(parts.cells[:-1], parts.cells[1:], strict=True):
        assert (np.diff(residual[parts.rows[begin:end]]) >= 0).all()
    donors = parts.donors(residual, np.ones(203))
    assert np.exp(donors.log_mass[donors.offsets[2] :]) @ donors.value[donors.offsets[2] :] == pytest.approx(
        residual[rows[cell == 2]].mean()
    )


# what is chosen


def test_forward_finds_what_was_planted_and_little_else():
    rng = np.random.default_rng(8)
    x = rng.normal(size=(500, 12))
    bound = 2 * np.log(12) + 2
    assert set(forward(x, 0.5 * x[:, 3] - 0.4 * x[:, 7] + rng.normal(size=500), bound)[:2]) == {3, 7}
    false = sum(len(forward(rng.normal(size=(200, 12)), rng.normal(size=200), bound)) > 0 for _ in range(200))
    # the largest of twelve squared normals
    chance = 1 - stats.chi2.cdf(bound, 1) ** 12
    assert false / 200 < chance + 4 * np.sqrt(chance * (1 - chance) / 200)


def test_products_that_matter_are_found_and_others_hardly_ever():
    rng = np.random.default_rng(9)
    x = np.column_stack([np.ones(600), rng.normal(size=(600, 4)), rng.random((600, 1)) < 0.4])
    assert (2, 4) in choose_products(x, [0.5 * x[:, 2] * x[:, 4] + rng.normal(size=600)], rng=rng)
    grouped = choose_products(x, [0.8 * x[:, 1] * x[:, 5] + rng.normal(size=600)], rng=rng)
    assert {(1, 5), (2, 5), (3, 5), (4, 5)} <= set(grouped)
    assert (5, 5) not in grouped
    assert products(x, ((1, 2),))[:, -1] == pytest.approx(x[:, 1] * x[:, 2])
    false = sum(choose_products(x, [rng.normal(size=600)], rng=rng) != () for _ in range(200))
    pairs = 5 * 6 // 2 - 1
    chance = 1 - stats.chi2.cdf(2 * np.log(pairs) + 4, 1) ** pairs
    assert false / 200 < chance + 4 * np.sqrt(chance * (1 - chance) / 200)


def survey(n=600, seed=10):
    """Return heaped ages, levels that go with them, a skewed income with gaps, and a kept z."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    age = np.clip(np.round(45 + 9 * z + 9 * rng.normal(size=n)), 18, 90)
    party = np.where(age + 15 * rng.normal(size=n) > 45, "right", "left")
    income = np.round(np.exp(7 + 0.5 * z + 0.6 * rng.normal(size=n)), 2)
    gone = rng.random(n) < 0.1 + 0.3 * (z > 0)
    return pd.DataFrame({"z": z, "age": age, "party": party, "income": np.where(gone, np.nan, income)})


REPLACED = {name: {"role": "replace"} for name in ("age", "party", "income")}


# the joint draw


def test_two_columns_are_drawn_as_enumeration_says():
    rng = np.random.default_rng(16)
    z = rng.normal(size=500)
    first = np.digitize(z + rng.normal(size=500), [-0.7, 0.7])
    second = (first + rng.normal(size=500) > 1).astype(int)
    frame = pd.DataFrame({"z": z, "first": np.array(list("abc"))[first], "second": np.array(list("no"))[second]})
    plan = planned(frame, first={"role": "replace", "kind": "nominal"}, second={"role": "replace", "kind": "nominal"})
    parameters = learnt(plan)[1].draw(rng=rng)
    # what W says of the second is against what it says of the first
    says = {"first": np.array([1.0, 0.0, -1.0]), "second": np.array([-2.0, 2.0])}
    expected = np.empty((3, 2))
    alone = parameters.of(np.zeros(1, dtype=np.int64))
    for a, b in np.ndindex(3, 2):
        # evidence of one combination alone leaves its probability as the weight
        only = [LevelEvidence(np.where(np.arange(k) == level, 0.0, -np.inf)[None]) for k, level in ((3, a), (2, b))]
        heard = [_heard(about, branch.value) for about, branch in zip(only, alone.branches, strict=True)]
        prior = alone.propose(heard, 1, rng=rng).log_weight[0, 0]
        expected[a, b] = np.exp(prior + says["first"][a] + says["second"][b])
    expected /= expected.sum()
    n = 8000
    here = parameters.of(np.zeros(n, dtype=np.int64))
    drawn = here.draw({name: LevelEvidence(np.repeat(log[None], n, axis=0)) for name, log in says.items()}, rng=rng)
    for a, b in np.ndindex(3, 2):
        p = expected[a, b]
        within(((drawn["first"] == a) & (drawn["second"] == b)).mean(), p, np.sqrt(p * (1 - p) / n))


def test_few_particles_agree_with_many():
    frame = survey().drop(columns="income")
    posterior = learnt(planned(frame, age=REPLACED["age"], party=REPLACED["party"]))[1]
    parameters = posterior.draw(rng=np.random.default_rng(2))
    here, many = parameters.of(np.zeros(4000, dtype=np.int64)), np.ones(4000)
    # W says one thing of age and party another
    about = {
        "age": GaussianEvidence.at(-0.5 * many, 2.0 * many),
        "party": LevelEvidence(np.repeat([[0.0, 1.5]], 4000, axis=0)),
    }
    usual = here.draw(about, rng=np.random.default_rng(3))
    long = replace(here, particles=200, sweeps=3).draw(about, rng=np.random.default_rng(4))
    for name in ("age", "party"):
        a, b = usual[name], long[name]
        within(a.mean(), b.mean(), np.sqrt((a.var() + b.var()) / 4000))


def test_full_information_gives_levels_and_heaps_back():
    frame = survey().drop(columns="income")
    plan = planned(frame, age=REPLACED["age"], party=REPLACED["party"])
    task, posterior = learnt(plan)
    n = len(frame)
    other = task.working["party"][:, None] != np.arange(2)
    about = {
        "age": GaussianEvidence.at(task.working["age"], np.full(n, 1e12)),
        "party": LevelEvidence(np.where(other, -np.inf, 0.0)),
    }
    drawn = posterior.draw(rng=np.random.default_rng(2)).draw(about, rng=np.random.default_rng(3))
    age = released(drawn["age"], plan.data.schema["age"], task.links["age"], frame["age"])
    assert np.array_equal(drawn["party"], task.working["party"])
    heap = frame["age"].map(frame["age"].value_counts()) >= 5
    assert heap.mean() > 0.8
    assert np.array_equal(age[heap], frame["age"][heap])


# missing values


def test_gaps_are_drawn_where_the_file_has_them():
    frame = survey(1500)
    plan = planned(frame, income=REPLACED["income"], party=REPLACED["party"])
    copies = Mi(model=Auto(), copies=10).synthesize(plan, streams=Streams(1)).copies
    for some in (frame.z > 0, frame.z <= 0):
        found = np.mean([copy.income[some].isna().mean() for copy in copies])
        p = frame.income[some].isna().mean()
        # the file's own share is a draw too, and parameters differ from copy to copy
        within(found, p, np.sqrt(p * (1 - p) / some.sum() * (1 + 2 / 10)))


def test_whether_there_is_a_w_tells_nothing():
    frame = survey(1500)
    plan = planned(frame, income=REPLACED["income"], party=REPLACED["party"])
    task, posterior = learnt(plan)
    gone = np.isnan(task.working["income"])
    draws = [
        posterior.draw(rng=np.random.default_rng(s)).complete(task, rng=np.random.default_rng(100 + s))["income"]
        for s in range(10)
    ]
    assert np.isfinite(draws).all()
    known = task.working["income"]
    assert all(np.array_equal(draw[~gone], known[~gone]) for draw in draws)
    # given z, what stands for the missing is as what is known
    slope, constant = np.polyfit(frame.z[~gone], known[~gone], 1)
    left = np.mean(draws, axis=0)[gone] - constant - slope * frame.z[gone]
    spread = (known[~gone] - constant - slope * frame.z[~gone]).std()
    within(left.mean(), 0.0, spread * np.sqrt(1 / (10 * gone.sum()) + 4 / (~gone).sum()))


def test_a_single_missing_value_does_not_become_many():
    rng = np.random.default_rng(0)
    z = rng.normal(size=300)
    frame = pd.DataFrame({"z": z, "x": z + rng.normal(size=300), "y": np.where(np.arange(300) == 4, np.nan, z)})
    plan = planned(frame, x={"role": "replace"}, y={"role": "replace"})
    posterior = learnt(plan)[1]
    counts = [np.isnan(posterior.draw(rng=rng).draw(silent(plan.data), rng=rng)["y"]).sum() for _ in range(200)]
    # the weight of one record is exponential: mean 1, and Poisson given it
    within(np.mean(counts), 1.0, np.sqrt(2 / 200))


def test_columns_that_apply_to_others_are_not_predictors():
    frame = survey(400).drop(columns="income")
    works = np.random.default_rng(3).random(400) < 0.5
    frame["work"] = np.where(works, "yes", "no")
    frame["pay"] = np.where(works, np.exp(frame.z), np.nan)
    frame["hours"] = np.where(works, np.random.default_rng(4).normal(size=400), np.nan)
    frame["pension"] = np.where(works, np.nan, np.exp(frame.z + 1))
    when = {"role": "replace", "applies_when": "work == 'yes'"}
    unless = {"role": "replace", "applies_when": "work == 'no'"}
    plan = planned(frame, work={"role": "replace"}, pay=when, hours=when, pension=unless)
    steps = {step.value.name: step.value.setting for step in learnt(plan)[1].steps}
    assert set(steps["pension"].before) == {"work"}
    assert not {"pay", "hours"} & set(steps["pension"].predictors)
    assert set(steps["hours"].before) == {"work", "pay"}
    copy = Mi(model=Auto(), copies=1).synthesize(plan, streams=Streams(1)).copies[0]
    assert np.array_equal(copy.pay.notna(), copy.work == "yes")
    assert np.array_equal(copy.pension.notna(), copy.work == "no")


@pytest.mark.parametrize("method", [Mi(model=Auto()), Mi(model=Auto(), imputations=2, missing="impute")])
def test_too_few_values_are_refused(method):
    frame = survey(100)
    frame["income"] = np.where(np.arange(100) < 4, frame.z, np.nan)
    found = method.problems(planned(frame, income={"role": "replace", "kind": "continuous"}))
    assert found == ["variables.income: must have values of at least 5 records to learn from, found 4; set role: drop."]


def test_small_and_odd_files_work():
    rng = np.random.default_rng(11)
    frame = survey(20)
    frame["day"] = pd.Timestamp("2001-01-01") + pd.to_timedelta(rng.integers(0, 900, 20), unit="D")
    frame.loc[[2, 5], "day"] = pd.NaT
    frame["count"] = pd.Series(rng.integers(0, 9, 20), dtype="Int64").where(rng.random(20) < 0.8)
    variables = {name: {"role": "replace"} for name in frame}
    plan = planned(frame, {"z": Gaussian(sd=0.5), "party": Transition(keep=0.5)}, **variables)
    method = DaMi(model=Auto(), copies=2)
    assert method.problems(plan) == []
    release = method.synthesize(plan, streams=Streams(1))
    assert all(list(copy.dtypes) == list(frame.dtypes) for copy in release.copies)
    assert [row["left by trees"] for row in release.chain] == [None] * 6


def test_five_hundred_levels_work():
    rng = np.random.default_rng(12)
    codes = np.array([f"code {i}" for i in range(500)])
    frame = pd.DataFrame({"z": rng.normal(size=3000), "job": rng.choice(codes, 3000), "x": rng.normal(size=3000)})
    plan = planned(
        frame, {"job": Transition(keep=0.5)}, job={"role": "replace", "kind": "nominal"}, x={"role": "replace"}
    )
    copy = DaMi(model=Auto(), copies=1).synthesize(plan, streams=Streams(1)).copies[0]
    assert set(copy.job) <= set(frame.job)


# privacy


def test_numbers_that_few_share_are_released_no_more_often_than_those_of_strangers():
    frame = survey(4000, seed=13).drop(columns="income")
    rng = np.random.default_rng(14)
    # to the whole number: some values are met by chance, few by five people
    frame["wealth"] = np.round(np.exp(8 + 0.5 * frame.z + rng.normal(size=4000)))
    half, others = frame.iloc[:2000].reset_index(drop=True), frame.iloc[2000:]
    plan = planned(half, {"wealth": Gaussian(sd=0.3)}, wealth={"role": "replace"}, party={"role": "replace"})
    copies = DaMi(model=Auto(), copies=5).synthesize(plan, streams=Streams(2)).copies
    counts = [file.wealth.value_counts() for file in (half, others)]
    heaps = {value for count in counts for value in count.index[count >= 5]}
    fitted, strangers = (set(count.index) - heaps for count in counts)
    drawn = pd.concat(copies).wealth
    met, by_chance = drawn.isin(fitted).sum(), drawn.isin(strangers).sum()
    assert by_chance > 100
    # copies of one fit are not independent: the number of values in each set varies too
    within(met, by_chance * len(fitted) / len(strangers), 2 * np.sqrt(met + by_chance))


def test_imputed_numbers_are_nobodys():
    frame = survey(400)
    rng = np.random.default_rng(15)
    frame["weight"] = np.where(rng.random(400) < 0.9, np.nan, frame.z + rng.normal(size=400))
    plan = planned(frame, {"age": Gaussian(sd=0.5)}, age=REPLACED["age"], income=REPLACED["income"])
    copies = DaMi(model=Auto(), copies=1, imputations=2, missing="impute").synthesize(plan, streams=Streams(3)).copies
    for copy in copies:
        assert not copy[["weight", "income"]].isna().any().any()
        repeated = copy.weight.isin(frame.weight.dropna())
        # those that are kept as they are, and no other
        assert repeated.sum() == frame.weight.notna().sum()


def test_no_repr_shows_a_value():
    plan = planned(survey(100), age=REPLACED["age"], party=REPLACED["party"])
    posterior = learnt(plan)[1]
    assert repr(posterior) == "AutoPosterior(2 columns)"
    assert repr(posterior.draw(rng=np.random.default_rng(0))) == "AutoParameters(2 columns)"
    assert "array" not in repr(posterior.steps[0].value)
    assert isinstance(posterior.steps[0].value, ColumnFit)


@pytest.mark.parametrize("told", [0.0, 0.3, 50.0])
def test_numbers_are_drawn_as_the_twin_of_trees_draws_them(told):
    from synthdp.imputation.auto.numbers import _choose
    from synthdp.imputation.trees import donors

    rng = np.random.default_rng(3)
    n, log_mass = 400, np.log(rng.dirichlet(np.ones(6), size=2)).ravel()
    mixtures = donors.Donors(np.array([0, 6, 12]), rng.normal(size=12), rng.uniform(0.1, 1, size=12), log_mass)
    cells, center, chance = rng.integers(2, size=n), rng.normal(size=n), rng.random(n)
    noise, precision = rng.standard_normal(n), np.full(n, told)
    about = donors.About(center, precision, np.empty((n, 0)))
    values, norms = donors.draw(cells[:, None], mixtures, about, chance[:, None], noise[:, None], 6)
    mass, x, norm = np.exp(mixtures.log_mass), noise.copy(), np.empty(n)
    variance = mixtures.sd**2
    room = np.empty(6)
    _choose(cells, mixtures.offsets, mixtures.value, variance, mass, center, precision, chance, room, x, norm)
    np.testing.assert_allclose(norm, norms[:, 0], atol=1e-6)
    np.testing.assert_allclose(x, values[:, 0], atol=1e-9)


def test_levels_are_drawn_as_the_twin_of_trees_draws_them():
    from synthdp.imputation.auto.levels import _pick
    from synthdp.imputation.trees.donors import About
    from synthdp.imputation.trees.donors import draw as twin

    rng = np.random.default_rng(12)
    n, paths, levels = 400, 5, 6
    offsets = np.array([0, 4, 6, 9])
    value = np.array([0.0, 1, 2, 4, 3, 5, 0, 3, 5])
    mass = np.concatenate([rng.dirichlet(np.ones(k)) for k in (4, 2, 3)])
    leaves = rng.integers(0, 3, (n, paths))
    heard = 3 * rng.normal(size=(n, levels))
    heard[:100, :3] = -np.inf  # some levels of a leaf are impossible
    heard[:50] = -np.inf  # all are
    heard[100:150, 3:] -= 2000  # and here they are nothing beside the others
    chance = rng.random((n, paths))
    quiet = np.zeros(n)
    mixtures = Donors(offsets, value, np.zeros(9), np.log(mass))
    x, norm = twin(leaves, mixtures, About(quiet, quiet, heard), chance, np.zeros((n, paths)), 4)
    top = heard.max(axis=1)
    top[~np.isfinite(top)] = 0.0
    found, logs = np.empty((n, paths)), chance.copy()
    _pick(
        leaves,
        offsets,
        value.astype(np.int64),
        mass,
        np.exp(heard - top[:, None]),
        heard,
        top,
        np.empty(4),
        found,
        logs,
    )
    np.testing.assert_array_equal(found, x)
    np.testing.assert_allclose(logs, norm, rtol=1e-12, atol=1e-12)
    assert np.isneginf(logs[:50]).all()


def test_paths_of_one_cell_draw_as_if_each_were_alone():
    from synthdp.imputation.auto.numbers import _choose

    rng = np.random.default_rng(13)
    n = 600
    offsets = np.array([0, 3, 8])
    value, variance, mass = rng.normal(size=8), rng.random(8) * 0.1, np.r_[np.full(3, 1 / 3), np.full(5, 0.2)]
    # a record's paths hear the same, and stand in the same cell or not
    cells = np.sort(rng.integers(0, 2, (n // 4, 4)), axis=1).ravel()
    center, precision = np.repeat(rng.normal(size=n // 4), 4), np.repeat(rng.random(n // 4) * 4, 4)
    chance, noise = rng.random(n), rng.normal(size=n)
    found, norm = noise.copy(), np.empty(n)
    _choose(cells, offsets, value, variance, mass, center, precision, chance, np.empty(5), found, norm)
    for i in range(n):
        one, log, here = noise[[i]].copy(), np.empty(1), slice(i, i + 1)
        _choose(
            cells[here],
            offsets,
            value,
            variance,
            mass,
            center[here],
            precision[here],
            chance[here],
            np.empty(5),
            one,
            log,
        )
        assert (one[0], log[0]) == (found[i], norm[i])


def test_a_few_missing_values_beside_many_predictors_do_not_become_many():
    rng = np.random.default_rng(2)
    z = pd.DataFrame(rng.normal(size=(2000, 20)), columns=[f"z{i}" for i in range(20)])
    frame = z.assign(x=z.z0 + rng.normal(size=2000), y=z.z1.where(z.z0.rank() > 12))
    plan = planned(frame, x={"role": "replace"}, y={"role": "replace"})
    posterior = learnt(plan)[1]
    assert posterior.steps[1].absent.choice.method == "trees"
    counts = [np.isnan(posterior.draw(rng=rng).draw(silent(plan.data), rng=rng)["y"]).sum() for _ in range(40)]
    # twelve exponential weights, and Poisson given them
    within(np.mean(counts), 12.0, np.sqrt(24 / 40))
