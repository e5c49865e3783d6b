"""Whether two files hold the same records: the estimate against enumeration, and files changed in every way we know."""

from itertools import product
from math import comb

import numpy as np
import pandas as pd
import pytest

from synthdp.release.fingerprints import decoded, fingerprint, siphash
from synthdp.release.overlaps import Overlap, overlap
from synthdp.release.recognising import recognise

KEY = bytes(range(32))


def survey(n=800, seed=1):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "sex": rng.choice(["F", "M"], n),
            "region": rng.integers(1, 17, n),
            "educ": rng.choice(["a", "b", "c", None], n),
            "height": rng.normal(170, 9, n).round(1),
            "income": (rng.lognormal(7, 0.6, n) // 10 * 10),
        }
    )


def coarse(n=800, seed=1):
    rng = np.random.default_rng(seed)
    levels = (3, 4, 2, 5, 3)
    return pd.DataFrame({f"c{i}": rng.integers(0, k, n) for i, k in enumerate(levels)})


def compared(now, before):
    return recognise(fingerprint(now, KEY), fingerprint(before, KEY))


def shuffled(frame, seed=5):
    return frame.sample(frac=1, random_state=seed).reset_index(drop=True)


def test_siphash_is_the_published_one():
    # the reference implementation's vector for the input 00 01 ... 07 under the key 00 01 ... 0f
    word = np.array([int.from_bytes(bytes(range(8)), "little")], dtype=np.uint64)
    assert hex(int(siphash(word, bytes(range(16)))[0])) == "0x93f5f5799a932462"


@pytest.mark.parametrize(("m", "p"), [(1, 0.5), (2, 0.5), (5, 0.2), (9, 0.7)])
def test_the_mean_and_variance_of_one_cell_by_enumeration(m, p):
    ratio = (1 - p) / p
    count = np.arange(m + 1.0)
    chance = np.array([comb(m, k) * p**k * (1 - p) ** (m - k) for k in range(m + 1)])
    other = m - count
    cell = count * other - (ratio * count * (count - 1) + other * (other - 1) / ratio) / 2
    assert chance @ cell == pytest.approx(0, abs=1e-12)
    assert chance @ cell**2 == pytest.approx(m * (m - 1) / 2)


def test_the_overlap_of_small_files_by_hand():
    words = np.arange(1, 41, dtype=np.uint64)
    assert overlap(words, words).share == pytest.approx(1)
    # twenty of forty records in both, everybody unique: matches are counted
    assert overlap(words, words + np.uint64(20)).share == pytest.approx(0.5)
    # two cells of 30 and 10: e = c(30, 10) by the formula
    a, b = np.repeat([1, 2], [30, 10]).astype(np.uint64), np.repeat([1, 2], [20, 20]).astype(np.uint64)
    cells = [(30, 20), (10, 20)]
    e = [x * y - (x * (x - 1) + y * (y - 1)) / 2 for x, y in cells]
    weight = [1 / (x + y) for x, y in cells]
    expected = sum(w * one for w, one in zip(weight, e, strict=True)) / sum(
        w * x for w, (x, _) in zip(weight, cells, strict=True)
    )
    assert overlap(a, b).share == pytest.approx(expected)


def test_the_chance_of_equal_tables_by_enumeration():
    words = np.repeat([1, 2, 3], [2, 3, 4]).astype(np.uint64)
    # the last cell follows from the total, so the least likely one is not counted
    chances = [comb(2 * c, c) / 4**c for c in (2, 3, 4)]
    assert overlap(words, words).log_chance == pytest.approx(np.log(np.prod(chances) / min(chances)))
    assert overlap(words, words[:-1]).log_chance == 0


def test_the_estimate_is_unbiased_without_overlap_and_never_too_high_with_one():
    rng = np.random.default_rng(2)
    for cells, share in product((40, 300, 10**6), (0.0, 0.5)):
        found = []
        for _ in range(60):
            n, both = 600, int(600 * share)
            pool = rng.integers(0, cells, 2 * n - both).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
            found.append(overlap(pool[:n], pool[n - both :]).share)
        error = np.std(found, ddof=1) / np.sqrt(len(found))
        # shared records make cells larger, which are weighted less: a little is lost where cells hold a few records
        low = 0.06 if share else 0
        assert share - low - 4 * error <= np.mean(found) <= share + 4 * error + 1e-9


def test_values_count_and_not_how_they_are_stored():
    frame = survey(200)
    text = frame.assign(
        age=frame["age"].astype(str), region=frame["region"].astype(float), sex=frame["sex"].astype("category")
    )
    assert fingerprint(frame, KEY).digest == fingerprint(text, KEY).digest
    assert fingerprint(frame, KEY).digest == fingerprint(shuffled(frame)[frame.columns[::-1]], KEY).digest
    assert fingerprint(frame, KEY).digest != fingerprint(frame, bytes(32)).digest
    days = pd.DataFrame({"day": pd.to_datetime(["2020-01-31", "2021-05-01"])})
    assert fingerprint(days, KEY).digest == fingerprint(days.astype(str), KEY).digest
    again = fingerprint(frame, KEY)
    assert decoded(again.summary(), again.encoded()).digest == again.digest
    assert repr(again) == "Fingerprint(200 records x 6 columns)"


CHANGES = {
    "shuffled": lambda frame: frame,
    "a column dropped": lambda frame: frame.drop(columns="income"),
    "two columns dropped": lambda frame: frame.drop(columns=["income", "age"]),
    "a column rounded": lambda frame: frame.assign(height=frame["height"].round(-1)),
    "all numbers rounded": lambda frame: frame.assign(
        height=frame["height"].round(), income=frame["income"].round(-2), age=frame["age"] // 2 * 2
    ),
    "all numbers cut to tens": lambda frame: frame.assign(
        **{name: frame[name] // 10 * 10 + 3 for name in ("age", "height", "income")}
    ),
    "top-coded": lambda frame: frame.assign(income=frame["income"].clip(upper=1500)),
    "recoded": lambda frame: frame.assign(region=frame["region"] * 100 + 7),
    "grouped": lambda frame: frame.assign(region=frame["region"] // 4),
    "a column added": lambda frame: frame.assign(new=np.arange(len(frame)) % 7),
    "a column in another order": lambda frame: frame.assign(
        income=np.random.default_rng(1).permutation(frame["income"])
    ),
    "columns renamed": lambda frame: frame.rename(columns={"age": "alter", "height": "groesse", "income": "einkommen"}),
    "half of the records": lambda frame: frame.head(400),
    "women only": lambda frame: frame[frame["sex"] == "F"],
    "records added": lambda frame: pd.concat([frame, survey(300, 9)]),
    "doubled": lambda frame: pd.concat([frame, frame]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_file_is_known_again_and_its_rows_found(change):
    before = survey()
    before = before.assign(**{f"c{i}": column for i, column in enumerate(coarse(800, 2).to_numpy().T)})
    now = CHANGES[change](shuffled(before.assign(row=np.arange(len(before)) * 7.5 + 0.25)))
    rows = now.pop("row").to_numpy()
    found = compared(now, before)
    assert found is not None
    assert found.share > 0.7
    assert found.aligned  # also where all numbers were rounded: the other columns tell who is who
    right = found.place == np.where(np.isnan(rows), -2, (rows - 0.25) / 7.5)
    assert right[found.place >= 0].mean() > 0.6 if change == "doubled" else right[found.place >= 0].mean() > 0.95


@pytest.mark.parametrize("make", [survey, coarse])
@pytest.mark.parametrize("size", [800, 300, 3000])
def test_two_samples_of_one_population_are_different_data(make, size):
    assert all(compared(make(size, seed), make(800, 100 + seed)) is None for seed in range(8))


def test_numbers_that_the_design_assigned_know_nobody():
    def wave(seed):
        frame = survey(600, seed).sort_values("region").reset_index(drop=True)
        number = np.arange(len(frame))
        return frame.assign(
            id=number + 1, household=number // 3, person=number % 3, quota=np.resize(np.arange(30), 600)
        )

    assert all(compared(wave(seed), wave(seed + 50)) is None for seed in range(6))
    only = [wave(seed)[["id", "sex"]] for seed in (1, 2)]
    assert compared(*only) is None
    assert compared(shuffled(wave(1)), wave(1)) is not None


@pytest.mark.parametrize(("share", "known"), [(0.1, False), (0.5, True), (0.9, True)])
def test_a_part_of_the_records(share, known):
    frame = survey(1600)
    both = int(800 * share)
    found = compared(shuffled(frame.iloc[800 - both : 1600 - both]), frame.head(800))
    assert (found is not None) == known
    if found is not None:
        assert found.share == pytest.approx(share, abs=0.05)
        assert found.certain == (share > 0.8)
        assert (found.place >= 0).sum() == pytest.approx(both, abs=5)


def test_large_cells_are_recognised_by_agreeing_too_well():
    frame = coarse()
    assert compared(shuffled(frame), frame).aligned
    less = compared(shuffled(frame).drop(columns="c0"), frame)
    assert less is not None
    assert not less.aligned  # nobody knows which of the equal rows is which
    assert compared(frame.drop(columns="c0"), frame).aligned  # but rows that stand where they stood are known
    assert compared(shuffled(frame[frame["c1"] == 2]), frame) is not None
    assert compared(shuffled(frame).head(720), frame) is not None


def test_a_tiny_file_is_known_only_as_it_was():
    frame = coarse(8)
    assert compared(shuffled(frame), frame).certain
    assert compared(frame.head(6), frame) is None
    assert compared(frame.rename(columns=str.upper), frame) is None


def test_nothing_in_common():
    assert compared(survey(), coarse()) is None
    assert Overlap(0.4, 0.1, 0.0).at_least == pytest.approx(0.2)


def recoded(frame):
    """Return a table in which no value is what it was: levels are spelt otherwise, in whatever order."""
    return frame.apply(lambda column: column.map({level: f"L{i}" for i, level in enumerate(column.unique())}))


@pytest.mark.parametrize("columns", [["c0", "c1", "c2", "c3", "c4"], ["c4", "c0", "c3", "c1"]])
def test_levels_that_were_recoded_are_known_by_how_common_they_are(columns):
    before = coarse()
    assert compared(shuffled(recoded(before))[columns], before) is not None
    others = [compared(shuffled(recoded(coarse(seed=seed)))[columns], before) for seed in range(2, 32)]
    assert others == [None] * 30
