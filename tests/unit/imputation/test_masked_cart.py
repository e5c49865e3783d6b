"""Trees given a mask: both ends, the exact posterior by enumeration and quadrature, and what the draw must not see."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from synthdp.imputation import predictors
from synthdp.imputation.model import Task
from synthdp.imputation.trees import donors
from synthdp.imputation.trees.donors import About
from synthdp.imputation.trees.masked import MaskedCart
from synthdp.imputation.trees.particles import Paths
from synthdp.masking.categorical import ShiftedNormal, Transition
from synthdp.masking.evidence import GaussianEvidence, LevelEvidence
from synthdp.masking.gaussian import Gaussian
from synthdp.seeding import Streams
from synthdp.synthesis.imputed import DaMi, Mi
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.sequential import Sequential
from synthdp.table.links import Link
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import Neighbours, tag


def task_of(data, **seen):
    links = {c.name: Link.of(data, c.name) for c in data.schema.replaced() if not c.kind.categorical}
    working = {
        c.name: links[c.name].forward(data.numbers(c.name)) if c.name in links else data.codes(c.name).astype(float)
        for c in data.schema.replaced()
    }
    return Task(data, predictors.build(data, **seen), working, links)


def levels(n=60):
    """Three replaced columns of 3, 2 and 2 levels that depend on each other, and a kept one."""
    rng = np.random.default_rng(3)
    z = rng.integers(0, 2, n)
    a = (z + rng.integers(0, 2, n)) % 3
    b = np.where(rng.random(n) < 0.8, a == 1, a == 2).astype(int)
    c = np.where(rng.random(n) < 0.85, b, 1 - b)
    frame = pd.DataFrame({"z": z, "a": np.array(list("xyz"))[a], "b": b, "c": c})
    kinds = {"a": "nominal", "b": "binary", "c": "binary"}
    return resolve(frame, {name: Variable(role="replace", kind=kind) for name, kind in kinds.items()})


def heard_levels(n, sizes, seed=7):
    rng = np.random.default_rng(seed)
    return {name: LevelEvidence(1.5 * rng.normal(size=(n, size))) for name, size in sizes.items()}


def enumerated(data, parameters, evidence, row, weights):
    """p(x | z, w, θ) of one record over every combination of levels, donor by donor."""
    names = [branch.name for branch in parameters.branches]
    table = {}
    for combination in product(*(range(len(data.schema[name].levels)) for name in names)):
        codes = parameters.codes[:, [row]].copy()
        mass = 1.0
        for branch, level in zip(parameters.branches, combination, strict=True):
            leaf = int(branch.tree.apply(codes)[0])
            rows = branch.tree.rows[branch.tree.offsets[leaf] : branch.tree.offsets[leaf + 1]]
            share = weights[rows] * (data.codes(branch.name)[rows] == level)
            mass *= share.sum() / weights[rows].sum() * np.exp(evidence[branch.name].log_weights[row, level])
            codes[branch.row] = branch.binning.bins(np.array([float(level)]))
        table[combination] = mass
    whole = sum(table.values())
    return {combination: mass / whole for combination, mass in table.items()}


@pytest.fixture(scope="module")
def small():
    data = levels()
    weights = np.random.default_rng(5).standard_exponential(len(data))
    posterior = MaskedCart(min_leaf=3).fit(task_of(data), rng=np.random.default_rng(1))
    return data, weights, posterior.grow(weights)


ROWS, REPEATS = range(0, 60, 6), 4000


def chi_square(values, row_of, expected):
    """The p-value of drawn combinations against the enumerated ones, all records together."""
    statistic, df = 0.0, 0
    for k, table in enumerate(expected):
        here = values[:, row_of == k].astype(int)
        wanted = np.array([mass * here.shape[1] for mass in table.values()])
        seen = np.array([np.all(combination == here.T, axis=1).sum() for combination in table])
        assert seen[wanted == 0].sum() == 0
        rare = wanted < 5
        seen, wanted = (np.append(v[~rare], v[rare].sum()) for v in (seen, wanted))
        seen, wanted = seen[wanted > 0], wanted[wanted > 0]
        statistic += ((seen - wanted) ** 2 / wanted).sum()
        df += len(wanted) - 1
    return stats.chi2.sf(statistic, df)


@pytest.mark.parametrize("silent", [False, True])
@pytest.mark.parametrize(("particles", "sweeps"), [(32, 3), (8, 12)])
def test_draws_follow_the_enumerated_posterior(small, silent, particles, sweeps):
    data, weights, parameters = small
    sizes = {"a": 3, "b": 2, "c": 2}
    evidence = heard_levels(len(data), sizes)
    if silent:
        evidence = {name: LevelEvidence.flat(len(data), size) for name, size in sizes.items()}
    expected = [enumerated(data, parameters, evidence, row, weights) for row in ROWS]
    assert silent or len({max(table, key=table.get) for table in expected}) > 2
    tiled = np.repeat(np.array(ROWS), REPEATS)
    many = replace(parameters, codes=parameters.codes[:, tiled], particles=particles, sweeps=sweeps)
    drawn = many.draw({name: part[tiled] for name, part in evidence.items()}, rng=np.random.default_rng(11))
    values = np.stack([drawn[name] for name in sizes])
    assert chi_square(values, np.repeat(np.arange(len(expected)), REPEATS), expected) > 1e-3


def test_a_sweep_of_two_particles_leaves_the_posterior_as_it_is(small):
    """Invariance is exact whatever the number of particles: the start is the posterior itself, P = 2."""
    data, weights, parameters = small
    evidence = heard_levels(len(data), {"a": 3, "b": 2, "c": 2})
    expected = [enumerated(data, parameters, evidence, row, weights) for row in ROWS]
    rng = np.random.default_rng(2)
    tiled = np.repeat(np.array(ROWS), REPEATS)
    codes = parameters.codes[:, tiled]
    start = np.concatenate(
        [np.array(list(t))[rng.choice(len(t), REPEATS, p=list(t.values()))] for t in expected], axis=0
    ).T.astype(float)
    heard = [About(np.zeros(len(tiled)), np.zeros(len(tiled)), part.log_weights[tiled]) for part in evidence.values()]
    current = Paths(start, path_weight(parameters, codes, heard, start))
    pair = replace(parameters, codes=codes, particles=2)
    moved = current
    for _ in range(3):
        moved = pair.sweep(moved, codes, heard, rng=rng)
    assert (moved.values != start).any(axis=0).mean() > 0.2
    np.testing.assert_allclose(moved.log_weight, path_weight(parameters, codes, heard, moved.values))
    assert chi_square(moved.values, np.repeat(np.arange(len(expected)), REPEATS), expected) > 1e-3


def path_weight(parameters, codes, heard, values):
    """The log weight of given paths, leaf by leaf."""
    here, total = codes.copy(), np.zeros(codes.shape[1])
    for branch, about, x in zip(parameters.branches, heard, values, strict=True):
        leaves = branch.tree.apply(here)
        for i, leaf in enumerate(leaves):
            part = slice(*branch.donors.offsets[leaf : leaf + 2])
            said = about.levels[i, branch.donors.value[part].astype(int)]
            total[i] += np.log(np.exp(branch.donors.log_mass[part] + said).sum())
        here[branch.row] = branch.binning.bins(x)
    return total


def numbers(n=300, seed=4):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    x = z + rng.normal(size=n)
    y = (rng.random(n) < 1 / (1 + np.exp(-2 * x))).astype(int)
    return resolve(
        pd.DataFrame({"z": z, "x": x, "y": y}),
        {"x": Variable(role="replace", bounds=(-8, 8)), "y": Variable(role="replace")},
    )


def test_a_smoothed_number_and_a_later_level_follow_the_posterior_on_a_grid():
    """p(x, y | w) of one record by quadrature of the smoothed leaves: kernel times mask, and y's say about x."""
    data = numbers()
    weights = np.random.default_rng(1).standard_exponential(len(data))
    parameters = MaskedCart(min_leaf=8).fit(task_of(data), rng=np.random.default_rng(1)).grow(weights)
    row, repeats = 17, 20_000
    w, precision, about_y = 0.4, 1.3, np.array([0.0, 2.0])
    first, second = parameters.branches
    assert (first.donors.sd > 0).all()
    part = slice(*first.donors.offsets[int(first.tree.apply(parameters.codes[:, [row]])[0]) :][:2])
    grid = np.linspace(-6, 6, 20_001)
    prior = np.exp(first.donors.log_mass[part]) @ stats.norm.pdf(
        grid, first.donors.value[part][:, None], first.donors.sd[part][:, None]
    )
    codes = np.repeat(parameters.codes[:, [row]], len(grid), axis=1)
    codes[first.row] = first.binning.bins(grid)
    leaves = second.tree.apply(codes)
    assert len(set(leaves)) > 3
    rows = [second.tree.rows[slice(*second.tree.offsets[leaf : leaf + 2])] for leaf in range(second.tree.leaves)]
    ones = np.array([np.average(data.codes("y")[r], weights=weights[r]) for r in rows])[leaves]
    said = np.stack([(1 - ones) * np.exp(about_y[0]), ones * np.exp(about_y[1])])
    joint = prior * np.exp(-0.5 * precision * (w - grid) ** 2) * said
    joint /= joint.sum()
    cumulative = joint.sum(axis=0).cumsum()
    tiled = replace(parameters, codes=np.repeat(parameters.codes[:, [row]], repeats, axis=1))
    evidence = {
        "x": GaussianEvidence.at(np.full(repeats, w), np.full(repeats, precision)),
        "y": LevelEvidence(np.tile(about_y, (repeats, 1))),
    }
    drawn = tiled.draw(evidence, rng=np.random.default_rng(9))
    assert stats.kstest(drawn["x"], lambda x: np.interp(x, grid, cumulative)).pvalue > 1e-3
    share = joint[1].sum()
    assert abs(drawn["y"].mean() - share) < 4 * np.sqrt(share * (1 - share) / repeats)


def plain(leaves, given, about, chance, noise):
    """What ``donors.draw`` does, one particle at a time and nothing shared."""
    values, norms = np.empty(leaves.shape), np.empty(leaves.shape)
    for i, p in np.ndindex(leaves.shape):
        part = slice(*given.offsets[leaves[i, p] : leaves[i, p] + 2])
        value, sd, mass = given.value[part], given.sd[part], np.exp(given.log_mass[part])
        k, w = about.precision[i], about.center[i]
        if about.levels.shape[1]:
            weight = mass * np.exp(about.levels[i, value.astype(int)])
        else:
            # N(w; c, h² + 1/k) without what does not depend on the donor
            weight = mass * np.exp(-0.5 * k * (w - value) ** 2 / (1 + k * sd**2)) / np.sqrt(1 + k * sd**2)
        norms[i, p] = np.log(weight.sum())
        c = int((weight.cumsum() <= chance[i, p] * weight.sum()).sum())
        if sd[c] > 0:
            total = 1 / sd[c] ** 2 + k
            values[i, p] = (value[c] / sd[c] ** 2 + k * w) / total + noise[i, p] / np.sqrt(total)
        else:
            values[i, p] = value[c]
    return values, norms


@pytest.mark.parametrize("column", ["x", "y"])
def test_the_compiled_draw_equals_its_twin(column):
    data, rng = numbers(), np.random.default_rng(8)
    parameters = MaskedCart().fit(task_of(data), rng=rng).draw(rng=rng)
    branch = next(branch for branch in parameters.branches if branch.name == column)
    shape = (200, 7)
    leaves = rng.integers(0, branch.tree.leaves, shape)
    leaves[:, 3:5] = leaves[:, [0]]
    precision = rng.exponential(size=200) * (rng.random(200) < 0.8)
    about = About(rng.normal(size=200), precision, rng.normal(size=(200, 2 if column == "y" else 0)))
    chance, noise = rng.random(shape), rng.standard_normal(shape)
    most = int(np.diff(branch.donors.offsets).max())
    found = donors.draw(leaves, branch.donors, about, chance, noise, most)
    for got, wanted in zip(found, plain(leaves, branch.donors, about, chance, noise), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-12)


def test_leaves_add_up_and_heaps_are_not_smoothed():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {"z": rng.normal(size=200), "income": np.where(rng.random(200) < 0.4, 0.0, rng.lognormal(size=200))}
    )
    data = resolve(frame, {"income": Variable(role="replace", kind="semicontinuous")})
    task = task_of(data)
    parameters = MaskedCart().fit(task, rng=rng).draw(rng=rng)
    (branch,) = parameters.branches
    mass = np.add.reduceat(np.exp(branch.donors.log_mass), branch.donors.offsets[:-1])
    np.testing.assert_allclose(mass, 1)
    zero = float(task.links["income"].forward(np.zeros(1))[0])
    heap = branch.donors.value == zero
    assert heap.any()
    assert (branch.donors.sd[heap] == 0).all()
    drawn = parameters.draw({"income": GaussianEvidence.flat(200)}, rng=rng)["income"]
    # a kernel around a small income does not make it negative
    assert drawn.min() == zero
    se = 4 * np.sqrt(0.4 * 0.6 / 200 * 2)
    assert abs((drawn == zero).mean() - (frame["income"] == 0).mean()) < se


def survey(n=400):
    rng = np.random.default_rng(5)
    z = rng.normal(size=n)
    sex = np.where(z + rng.normal(size=n) > 0, "F", "M")
    return pd.DataFrame(
        {
            "sex": sex,
            "age": np.round(45 + 8 * z**2 + 6 * (sex == "F") + 6 * rng.normal(size=n), 1),
            "visits": rng.poisson(np.exp(0.3 * np.abs(z))),
            "smoker": rng.random(n) < 0.3,
            "z": np.where(rng.random(n) < 0.1, np.nan, z),
            "vote": z + rng.normal(size=n),
        }
    )


REPLACED = {"age": Variable(role="replace", key=True, bounds=(0, 120)), "sex": Variable(role="replace", key=True)}


def plan(masks, by_group=None, **others):
    data = resolve(survey(), REPLACED | others)
    return Plan(data, tag(data, Neighbours(k=5)), masks, by_group or {})


SILENT = {"age": Gaussian(sd=1e6), "sex": ShiftedNormal(alpha=0)}


def test_a_silent_mask_is_forward_cart():
    """The first end: the same distribution over copies as sequential CART with the bootstrap, and as no mask at all."""
    model = MaskedCart(order=("sex", "age"))
    masked = DaMi(copies=60, model=model).synthesize(plan(SILENT), streams=Streams(1)).copies
    unmasked = Mi(copies=60, model=model).synthesize(plan({}), streams=Streams(2)).copies
    forward = Sequential(
        copies=60,
        proper=True,
        model={"method": "cart", "order": ("sex", "age"), "min_leaf": 5, "dealing": "independent"},
    )
    forward = forward.synthesize(plan({}), streams=Streams(3)).copies
    for statistic in (
        lambda f: f["age"].mean(),
        lambda f: f["age"].std(),
        lambda f: (f["sex"] == "F").mean(),
        lambda f: f["age"].corr(f["z"] ** 2),
        lambda f: f.loc[f["sex"] == "F", "age"].mean(),
    ):
        drawn = [statistic(f) for f in masked]
        for others in (unmasked, forward):
            assert stats.ks_2samp(drawn, [statistic(f) for f in others]).pvalue > 1e-4


@pytest.mark.parametrize("smoothing", [True, False])
def test_full_information_gives_the_original_back(smoothing):
    """The other end."""
    loud = {
        "age": Gaussian(sd=1e-7),
        "sex": ShiftedNormal(alpha=60),
        "visits": Gaussian(sd=1e-7),
        "smoker": Transition(keep=1 - 1e-15),
    }
    others = {name: Variable(role="replace") for name in ("visits", "smoker")}
    given = plan(loud, **others)
    method = DaMi(copies=2, model=MaskedCart(smoothing=smoothing))
    for copy in method.synthesize(given, streams=Streams(1)).copies:
        pd.testing.assert_frame_equal(copy, given.data.frame)


def test_what_is_known_of_a_later_column_informs_an_earlier_one():
    """Sex is drawn before age and has no mask; a sharp W about age still says which sex."""
    rng = np.random.default_rng(3)
    woman = rng.random(600) < 0.5
    frame = pd.DataFrame({"sex": np.where(woman, "F", "M"), "age": np.where(woman, 30, 60) + 5 * rng.normal(size=600)})
    data = resolve(frame, {"sex": Variable(role="replace"), "age": Variable(role="replace")})
    told = Plan(data, tag(data, None), {"age": Gaussian(sd=0.1)})
    untold = Plan(data, tag(data, None), {})
    order = MaskedCart(order=("sex", "age"))
    with_age = DaMi(copies=1, model=order).synthesize(told, streams=Streams(1)).copies[0]
    without = Mi(copies=1, model=order).synthesize(untold, streams=Streams(1)).copies[0]
    assert (with_age["sex"] == frame["sex"]).mean() > 0.97
    assert abs((without["sex"] == frame["sex"]).mean() - 0.5) < 4 * np.sqrt(0.25 / 600)


def test_the_draw_sees_w_and_z_only():
    """Given θ, changing the truth but not W changes nothing: the true values are not among the parameters' codes."""
    given = plan(SILENT)
    posterior = MaskedCart().fit(task_of(given.data), rng=np.random.default_rng(1))
    parameters = posterior.draw(rng=np.random.default_rng(1))
    for branch in parameters.branches:
        assert (parameters.codes[branch.row] == 0).all()
        assert (posterior.binned.codes[branch.row] != 0).any()


def test_more_particles_and_sweeps_change_little():
    """The default is settled: the margins of a hard case are those of ten times the work."""
    masks = {"age": Gaussian(sd=0.05)}
    order = {"order": ("sex", "age")}
    few, many = (
        DaMi(copies=40, model=MaskedCart(**order, **settings)).synthesize(plan(masks), streams=Streams(seed)).copies
        for seed, settings in ((1, {}), (2, {"particles": 64, "sweeps": 12}))
    )
    right = [[(f["sex"] == survey()["sex"]).mean() for f in copies] for copies in (few, many)]
    assert stats.ttest_ind(*right).pvalue > 1e-3


def test_improper_trees_are_grown_once():
    task, rng = task_of(plan({}).data), np.random.default_rng(1)
    once = MaskedCart(proper=False).fit(task, rng=rng)
    assert once.draw(rng=rng) is once.draw(rng=rng)
    proper = MaskedCart().fit(task, rng=rng)
    first, second = proper.draw(rng=rng), proper.draw(rng=rng)
    assert not np.array_equal(first.branches[0].donors.log_mass, second.branches[0].donors.log_mass)


def test_trees_see_by_what_the_masks_differ():
    data = plan({}).data
    groups = np.arange(len(data)) % 3
    task = task_of(data, groups=groups, neighbours=groups + 1, exclude=("vote",))
    posterior = MaskedCart(exclude=("vote",)).fit(task, rng=np.random.default_rng(1))
    assert "vote" not in posterior.binned.names
    assert sum(name.startswith("the mask's ") for name in posterior.binned.names) == 3


@pytest.mark.parametrize("order", [None, ("sex", "age")])
def test_an_excluded_column_changes_nothing(order):
    model = MaskedCart(exclude=("vote",), order=order)
    masks = {"age": Gaussian(sd=0.5), "sex": ShiftedNormal(alpha=1)}
    given = plan(masks)
    first = DaMi(copies=1, model=model).synthesize(given, streams=Streams(1)).copies[0]
    other = resolve(survey().assign(vote=lambda f: f["vote"].to_numpy()[::-1]), REPLACED)
    second = DaMi(copies=1, model=model).synthesize(Plan(other, given.tags, masks), streams=Streams(1)).copies[0]
    pd.testing.assert_frame_equal(first[["age", "sex"]], second[["age", "sex"]])


def test_without_kept_columns_there_is_one_leaf():
    data = resolve(survey()[["age"]], {"age": REPLACED["age"]})
    model = MaskedCart(particles=2)
    copy = Mi(copies=1, model=model).synthesize(Plan(data, tag(data, None)), streams=Streams(1)).copies[0]
    assert stats.ks_2samp(copy["age"], data.frame["age"]).pvalue > 1e-3


def test_a_level_that_w_excludes_is_never_chosen_when_a_path_avoids_it(small):
    data, _, parameters = small
    n = len(data)
    sure = np.where(np.arange(2) == data.codes("c")[:, None], 0.0, -np.inf)
    evidence = {"a": LevelEvidence.flat(n, 3), "b": LevelEvidence.flat(n, 2), "c": LevelEvidence(sure)}
    drawn = parameters.draw(evidence, rng=np.random.default_rng(1))
    np.testing.assert_array_equal(drawn["c"], data.codes("c"))
    impossible = dict(evidence, c=LevelEvidence(np.full((n, 2), -np.inf)))
    assert set(np.unique(parameters.draw(impossible, rng=np.random.default_rng(1))["c"])) <= {0.0, 1.0}


def test_nothing_formal_is_claimed_about_donors():
    fixed = {"age": Gaussian(scale=60.0), "sex": ShiftedNormal(alpha=1)}
    stated = DaMi(copies=1).synthesize(plan(fixed), streams=Streams(1)).masking
    withdrawn = DaMi(copies=1, model=MaskedCart()).synthesize(plan(fixed), streams=Streams(1)).masking
    assert all(row["mu"] is not None for row in stated)
    assert all(row["mu"] is None for row in withdrawn)
    assert all("holds the records themselves as donors" in row["statement"] for row in withdrawn)


@pytest.mark.parametrize(
    ("model", "changed", "sentence"),
    [
        (
            MaskedCart(order=("age",)),
            {},
            "synthesis.model.order: must list each replaced column once (sex, age).",
        ),
        (MaskedCart(exclude=("age",)), {}, "synthesis.model.exclude: 'age' is not a kept column."),
        (
            MaskedCart(),
            {"z": Variable(role="replace")},
            "variables.z: trees given a mask need complete replaced columns, found {} missing values; leave those "
            "records out of the file, or set role: keep.",
        ),
        (
            MaskedCart(),
            {"born": Variable(role="replace", kind="date")},
            "variables.born: trees given a mask cannot replace dates; use method: sequential, or set role: keep.",
        ),
    ],
)
def test_what_trees_cannot_do_is_named(model, changed, sentence):
    frame = survey().assign(born=pd.date_range("1950-01-01", periods=400))
    data = resolve(frame, REPLACED | changed)
    found = Mi(model=model).problems(Plan(data, tag(data, None)))
    assert found == [sentence.format(int(frame["z"].isna().sum()))]


def test_evidence_of_an_unknown_sort_is_a_bug():
    task = task_of(numbers())
    parameters = MaskedCart().fit(task, rng=np.random.default_rng(1)).draw(rng=np.random.default_rng(1))
    with pytest.raises(TypeError, match="trees can be told about numbers and levels, not by ndarray"):
        parameters.draw({"x": np.zeros(300), "y": LevelEvidence.flat(300, 2)}, rng=np.random.default_rng(1))


def test_no_values_in_what_is_printed():
    task, rng = task_of(numbers()), np.random.default_rng(1)
    posterior = MaskedCart().fit(task, rng=rng)
    parameters = posterior.draw(rng=rng)
    assert repr(posterior) == "TreePosterior(Binned(300 records x 3 columns))"
    assert repr(parameters) == "TreeParameters(2 trees)"
    assert repr(parameters.branches[0]).startswith("Branch(Tree(")
