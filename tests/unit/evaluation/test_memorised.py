"""Half-fits tell a model that holds its records from one that does not, whatever the mask and whatever is kept."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from synthdp.config import parse
from synthdp.errors import InputError, Unfinished
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.leaks.memorised import AT_LEAST, NEAR, evaluate_memorised
from synthdp.stages.draws import ENOUGH_COPIES, part_of, refitting
from synthdp.stages.intake import prepare
from synthdp.stages.planning import plan_of
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable

LIMIT = 0.02
VARIABLES = {
    "income": {"kind": "continuous", "role": "replace"},
    "age": {"kind": "continuous", "role": "replace", "key": True},
    "sex": {"kind": "binary", "role": "replace"},
}
MASKS = {
    "income": {"method": "gaussian", "sd": 1},
    "age": {"method": "gaussian", "sd": 1},
    "sex": {"method": "shifted_normal", "alpha": 1},
}


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def people(n: int, seed: int = 0) -> pd.DataFrame:
    """A kept score, and an income in thousands, an age in years and a sex that are replaced."""
    draw = rng(seed)
    z = draw.normal(size=n)
    return pd.DataFrame(
        {
            "z": z.round(2),
            "income": np.exp(3 + 0.5 * z + draw.normal(0, 0.7, n)).round(),
            "age": np.clip(45 + 8 * z + draw.normal(0, 12, n), 18, 95).round(),
            "sex": draw.choice(["f", "m"], n),
        }
    )


def comparison(n: int, seed: int = 0) -> Comparison:
    data = resolve(people(n, seed), {name: Variable(**block) for name, block in VARIABLES.items()})
    return Comparison(data.frame, (), data.schema, aligned=True)


def donors(original: pd.DataFrame, copies: int = 2):
    """A model that gives out its records, at other places."""

    def refit(rows, rng):
        return [original.iloc[rng.permutation(rows)].reset_index(drop=True) for _ in range(copies)]

    return refit


def strangers(original: pd.DataFrame, copies: int = 3):
    """A model that knows the population and nobody in it."""

    def refit(rows, rng):
        return [people(len(rows), int(rng.integers(2**31))) for _ in range(copies)]

    return refit


@pytest.mark.parametrize("n", [60, 400])
def test_donors_are_refused_and_strangers_are_not(n: int) -> None:
    beside = comparison(n)
    for seed in range(5):
        assert evaluate_memorised(beside, refit=donors(beside.original), rng=rng(seed))["low"] > 0.3
        assert evaluate_memorised(beside, refit=strangers(beside.original), rng=rng(seed))["judged"] <= LIMIT


def test_few_people_alone_among_coarse_columns_are_no_reason_to_refuse() -> None:
    draw = rng(3)
    frame = pd.DataFrame({"a": draw.integers(0, 6, 150), "b": draw.integers(0, 5, 150), "c": draw.integers(0, 2, 150)})
    frame.loc[:4, "a"] = np.arange(10, 15)
    data = resolve(frame, {name: Variable(kind="continuous", role="replace") for name in frame})
    beside = Comparison(data.frame, (), data.schema, aligned=True)

    def refit(rows, rng):
        return [
            pd.DataFrame({c: rng.choice(np.arange(15 if c == "a" else 5), len(rows)) for c in frame}) for _ in range(2)
        ]

    found = evaluate_memorised(beside, refit=refit, rng=rng())
    assert 5 <= found["unique"] < 30
    assert found["judged"] <= LIMIT


def test_a_record_in_its_own_row_is_the_masks_leak_not_a_memory() -> None:
    beside = comparison(300)
    found = evaluate_memorised(
        beside, refit=lambda rows, rng: [beside.original.iloc[rows].reset_index(drop=True)], rng=rng()
    )
    assert (found["fitted"], found["held_out"], found["in_any"]["fitted"]) == (0, 0, 0)
    assert found["near"]["difference"] == pytest.approx(0, abs=4 * 0.5 / np.sqrt(300))


def test_counts_are_those_of_a_plain_loop() -> None:
    beside = comparison(80, seed=4)
    original, names = beside.original, ["income", "age", "sex"]
    fits: list[tuple[list[int], list[pd.DataFrame]]] = []

    def refit(rows, rng):
        made = people(len(rows), int(rng.integers(2**31)))
        copies = [made, made.copy()]
        copies[1].loc[:9, names] = original.iloc[rows[:10]][names].to_numpy()
        copies[0].loc[:4, names] = original.iloc[rows[-5:]][names].to_numpy()
        fits.append((rows.tolist(), copies))
        return copies

    found = evaluate_memorised(beside, refit=refit, rng=rng(), most_splits=2)
    people_of = [tuple(row) for row in original[names].itertuples(index=False)]
    alone = [i for i in range(80) if people_of.count(people_of[i]) == 1]
    numeric = {c: np.subtract(*np.quantile(original[c], [0.99, 0.01])) for c in ("income", "age")}

    def apart(one, other) -> float:
        gaps = [min(1.0, abs(one[k] - other[k]) / numeric[c]) for k, c in enumerate(("income", "age"))]
        return (sum(gaps) + (one[2] != other[2])) / 3

    reach = {i: min(apart(people_of[i], people_of[j]) for j in range(80) if j != i) for i in alone}
    totals, near = {True: 0.0, False: 0.0}, {True: 0.0, False: 0.0}
    for rows, copies in fits:
        for copy in copies:
            values = [tuple(row) for row in copy[names].itertuples(index=False)]
            for i in alone:
                others = [v for k, v in enumerate(values) if rows[k] != i]
                totals[i in rows] += (people_of[i] in others) / len(copies) / 2
                closest = min(apart(people_of[i], v) for v in others)
                near[i in rows] += (closest <= NEAR * reach[i] + 1e-12) / len(copies) / 2
    least = min(80, AT_LEAST)
    assert found["splits"] == 2 == len(fits) / 2
    assert found["unique"] == len(alone)
    assert found["fitted"] == pytest.approx(totals[True] / least)
    assert found["held_out"] == pytest.approx(totals[False] / least)
    assert found["difference"] + found["chance"] == pytest.approx((totals[True] - totals[False]) / least)
    assert found["near"]["difference"] + found["near"]["chance"] == pytest.approx((near[True] - near[False]) / least)
    assert found["judged"] == max(found["high"], found["near"]["low"])


def test_the_interval_holds_what_draws_vary() -> None:
    beside = comparison(120, seed=2)
    found = [
        evaluate_memorised(beside, refit=strangers(beside.original), rng=rng(seed), most_splits=2) for seed in range(30)
    ]
    # strangers do not even know how common values are in this half, so that less than nothing is left
    missed = np.mean([not one["low"] <= -one["chance"] <= one["high"] for one in found])
    assert missed <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 30)
    whole = [one["difference"] + one["chance"] for one in found]
    assert np.mean(whole) == pytest.approx(0, abs=4 * np.std(whole) / np.sqrt(30))


def test_large_files_are_sampled_and_clusters_stay_together() -> None:
    frame = people(400).assign(household=np.repeat(np.arange(100), 4))
    config = parse({"data": {"path": "x.csv", "cluster": "household"}, "variables": VARIABLES})
    data = prepare(frame, config)
    seen = []

    def refit(rows, rng):
        seen.append(rows)
        return [data.frame.iloc[rows].reset_index(drop=True)]

    found = evaluate_memorised(
        Comparison(data.frame, (), data.schema, aligned=True), refit=refit, rng=rng(), most_fitted=100
    )
    assert found["records"] == 200
    for rows in seen:
        assert len(rows) == 100
        assert (np.diff(rows) > 0).all()
        assert set(np.bincount(rows // 4)) <= {0, 4}


def test_what_cannot_be_measured_is_said() -> None:
    tries = []

    def fails(rows, rng):
        tries.append(1)
        raise Unfinished("synthesis.model: the chains do not agree.")

    def singular(rows, rng):
        raise np.linalg.LinAlgError("the value 17 is bad")

    for refit, words in ((fails, r"half of the records \(synthesis.model: the chains"), (singular, "singular")):
        with pytest.raises(InputError, match=words):
            evaluate_memorised(comparison(40), refit=refit, rng=rng())
    assert len(tries) == 3
    with pytest.raises(InputError, match="20 records to halve, found 19"):
        evaluate_memorised(comparison(19), refit=fails, rng=rng())


def configured(n: int, synthesis: dict, **more):
    config = parse({"data": {"path": "x.csv"}, "variables": VARIABLES, "synthesis": synthesis, **more})
    plan = plan_of(config, prepare(people(n), config))
    beside = Comparison(plan.released.frame, (), plan.released.schema, aligned=True)
    return beside, refitting(config.synthesis, plan), plan


@pytest.mark.parametrize(
    ("synthesis", "refused"),
    [
        ({"method": "sequential", "copies": 2}, False),
        ({"method": "sequential", "model": {"method": "cart", "min_leaf": 5}, "copies": 2}, True),
        ({"method": "mi", "model": {"method": "cart"}}, True),
        ({"method": "da_mi", "model": {"method": "cart"}}, True),
        ({"method": "sequential", "model": {"method": "regression"}}, False),
        ({"method": "mi"}, False),
        ({"method": "da_mi"}, False),
    ],
    ids=lambda value: str(value) if isinstance(value, bool) else "-".join(map(str, value.values()))[:30],
)
def test_methods_that_keep_few_donors_a_leaf_are_refused(synthesis: dict, refused: bool) -> None:
    masks = {"masks": MASKS} if synthesis["method"] == "da_mi" else {}
    beside, refit, _ = configured(800, synthesis, **masks)
    found = evaluate_memorised(beside, refit=refit, rng=rng())
    assert found["copies"] == ENOUGH_COPIES
    assert (found["judged"] > LIMIT) == refused


def test_part_of_a_plan_is_the_plan_of_these_records() -> None:
    _, refit, plan = configured(60, {"method": "da_mi", "repair": True}, masks=MASKS)
    rows = np.arange(3, 60, 2)
    whole = replace(plan, whole=plan.data)
    part = part_of(whole, rows)
    assert part.whole is not None
    for data in (part.data, part.whole):
        pd.testing.assert_frame_equal(data.frame, plan.data.frame.iloc[rows].reset_index(drop=True))
        assert data.schema == plan.data.schema
    assert part.tags.labels.tolist() == plan.tags.labels.iloc[rows].tolist()
    assert part.tags.neighbours.tolist() == plan.tags.neighbours[rows].tolist()
    first, again = refit(rows, rng(5)), refit(rows, rng(5))
    assert first[0]["z"].tolist() == plan.data.frame["z"].iloc[rows].tolist()
    pd.testing.assert_frame_equal(first[0], again[0])


def test_copies_are_repaired_where_the_config_asks() -> None:
    narrow = {name: {"method": "gaussian", "sd": 0.02} for name in ("income", "age")}
    narrow["sex"] = {"method": "shifted_normal", "alpha": 8}
    config = parse({"data": {"path": "x.csv"}, "variables": VARIABLES, "masks": narrow})
    plan = plan_of(config, prepare(people(60), config))
    plain, repaired = (
        refitting(config.synthesis.model_copy(update={"repair": how}), plan)(np.arange(60), rng(7))
        for how in (False, True)
    )
    assert any(not one["age"].equals(other["age"]) for one, other in zip(plain, repaired, strict=True))
    assert list(repaired[0].columns) == list(plan.data.frame.columns)


def test_copies_that_know_nothing_but_how_common_each_value_is_have_memorised_nothing():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {name: rng.integers(0, size, 300).astype(str) for name, size in (("a", 12), ("b", 9), ("c", 7))}
    )
    data = resolve(frame, {name: Variable(role="replace", kind="nominal") for name in frame})
    files = Comparison(data.frame, (), data.schema, aligned=True)

    def shuffled(rows, rng):
        part = data.frame.iloc[rows].reset_index(drop=True)
        return [part.apply(lambda column: column.iloc[rng.permutation(len(part))].to_numpy()) for _ in range(5)]

    def verbatim(rows, rng):
        return [data.frame.iloc[rng.permutation(rows)].reset_index(drop=True) for _ in range(5)]

    found = evaluate_memorised(files, refit=shuffled, rng=np.random.default_rng(1))
    assert found["chance"] > 0.01
    assert found["low"] < 0 < found["high"] < 0.02
    assert found["judged"] < 0.02
    assert evaluate_memorised(files, refit=verbatim, rng=np.random.default_rng(1))["difference"] > 0.5
