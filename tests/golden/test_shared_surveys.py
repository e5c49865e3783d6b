"""The studies of the shared surveys: the authors' complete-case estimates come out again, skips are what they seem."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from shared_data import SHARED

from reports.csrg_copula import study
from reports.sd2011 import study as sd2011
from synthdp.errors import InputError
from synthdp.table.microdata import resolve

needs_data = pytest.mark.skipif(not SHARED.exists(), reason="needs the shared data, which are not here")


def expected_information_se(frame: pd.DataFrame, analysis: str, beta: np.ndarray) -> np.ndarray:
    """Return standard errors from the expected information, as R's glm does; the study's are from the observed."""
    age = frame["Age_raw"]
    rows = frame if analysis == "work" else frame[(frame["BaselineILD"] == 0) & frame["OneYearILD"].notna()]
    design = rows[list(study.TERMS)].assign(Age_raw=(rows["Age_raw"] - age.mean()) / age.std())
    matrix = np.column_stack([np.ones(len(rows)), design.to_numpy(np.float64)])
    eta = matrix @ beta
    weights = stats.norm.pdf(eta) ** 2 / (stats.norm.cdf(eta) * stats.norm.sf(eta))
    return np.sqrt(np.diag(np.linalg.inv(matrix.T @ (matrix * weights[:, None]))))


@needs_data
@pytest.mark.parametrize(("analysis", "published"), [("work", "work_disability"), ("ild", "ild")])
def test_complete_cases_are_the_authors(analysis, published):
    people = study.patients(SHARED).frame
    complete = people.dropna(subset=list(study.TERMS)).reset_index(drop=True)
    expected = json.loads((SHARED / "published" / "pseudo_csrg_results.json").read_text())[f"complete_case_{published}"]
    found = study.estimates(complete, complete, analysis)
    se = expected_information_se(complete, analysis, found.values)
    for place, term in enumerate(found.names[1:], start=1):
        wanted = expected["Age_std" if term == "Age_raw" else term]
        # the study's small ridge moves the least certain terms, by less than a hundredth of their standard error
        assert abs(found.values[place] - wanted["estimate"]) < 0.01 * wanted["se"], term
        assert abs(se[place] / wanted["se"] - 1) < 0.01, term


@needs_data
def test_overlap_of_an_interval_with_itself_is_one():
    people = study.patients(SHARED)
    filled = people.frame.fillna({name: people.frame[name].median() for name in study.TERMS})
    copies = tuple(filled.assign(Age_raw=filled["Age_raw"] + shift) for shift in np.linspace(-1, 1, 15))
    parts = [study.estimates(copy, people.frame, "work") for copy in copies]
    pooled = study.combine(parts, rule="reiter2004", nests=5)
    found = study.overlaps(people, copies, {"work": np.column_stack([pooled.low, pooled.high])[1:]})
    assert found == pytest.approx({"work_mean": 1.0, "work_lowest": 1.0})


def test_the_page_has_a_line_for_every_setting():
    row = {"method": "some", "repair": True, "records_repaired": 3.0, "seconds": 9.0}
    row |= {f"{name}_{part}": 0.9 for name in ("work", "work_ours", "ild") for part in ("mean", "lowest")}
    risk = {f"{a}_{k}_{t}": 1.0 for a in ("copies", "averaged") for k in ("expected", "true") for t in (3, 5)}
    results = {"rows": [row | risk], "original": risk, "benchmarks_overlap": {"mean": 0.98, "lowest": 0.9}}
    settings = {"records": 698, "incomplete": 100, "imputations": 5, "copies": 3, "seeds": 1}
    text = study.page(results, settings)
    assert "| some | yes | 0.900 | 0.900 |" in text
    assert "overlap by\n0.980 on average" in text


@needs_data
def test_answers_of_people_who_were_not_asked_are_taken_out():
    frame, taken = sd2011.survey(SHARED)
    original = pd.read_csv(SHARED / "sd2011.csv")
    assert taken == int(frame.isna().sum().sum() - original.isna().sum().sum())
    assert 0 < taken < 50
    coded = frame.mask(frame.isin([-8]))
    rows = sd2011.skips_of(coded, [coded])
    assert all(row["not_asked_but_answered"] == 0 for row in rows)
    assert all(row["answered_original"] == row["answered_copies"] > 0.85 for row in rows)


@needs_data
@pytest.mark.slow
def test_the_config_of_init_decided(tmp_path):
    frame, _ = sd2011.survey(SHARED)
    frame.head(1500).to_csv(tmp_path / "sd2011.csv", index=False)
    raw = sd2011.settings(tmp_path)
    replaced = {name for name, variable in raw["variables"].items() if variable.get("role") == "replace"}
    assert {name for name in replaced if raw["variables"][name].get("key")} == set(raw["masks"])
    assert len(raw["masks"]) == 8
    assert replaced - set(raw["masks"]) == set(sd2011.FOLLOWING)


def test_kept_columns_are_compared_whatever_the_order_of_rows():
    frame = pd.DataFrame({"a": [1, 2, -8], "b": ["x", None, "y"], "c": [1, 2, 3]})
    variables = resolve(frame, {}).schema
    roles = {name: variables[name] for name in frame.columns} | {"c": type("", (), {"role": "replace"})}
    copy = frame.assign(c=0, a=[1.0, 2.0, np.nan]).iloc[[2, 0, 1]]
    assert sd2011._unchanged(frame, [copy], roles)
    assert not sd2011._unchanged(frame, [copy.assign(b="x")], roles)


@pytest.mark.parametrize("read", [study.patients, sd2011.survey])
def test_without_the_file_it_is_said_where_to_put_it(read, tmp_path):
    with pytest.raises(InputError, match="no such file; say where the shared data are with --data"):
        read(tmp_path)
