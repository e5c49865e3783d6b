"""Small slices of the copula's studies, and their committed results held to what the pages claim."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from shared_data import SHARED

from reports.copula_coverage import study
from reports.copula_groups import study as copula_groups
from reports.copula_margins import study as copula_margins
from reports.copula_moments import study as copula_moments
from reports.copulas import SOMETIMES_MISSING, mixed_copula, mixed_copula_truth, with_missing
from reports.covering import truth_vector

REPORTS = Path(__file__).parents[2] / "reports"


def committed(study: str) -> dict:
    path = REPORTS / study / "results.json"
    if not path.exists():
        pytest.skip(f"{study} has not been run")
    return json.loads(path.read_text(encoding="utf-8"))


class TestDesign:
    def test_closed_forms_are_what_a_large_file_gives(self):
        frame = mixed_copula(200_000, rng=np.random.default_rng(1))
        found = study.estimate(frame)
        truth = truth_vector(mixed_copula_truth())
        assert tuple(truth.index) == found.names
        # least squares and shares were simulated too: their own error is a fifth of this file's
        assert (np.abs(found.values - truth.to_numpy()) < 4.2 * np.sqrt(np.diag(found.covariance))).all()

    def test_missing_values_depend_on_y_alone(self):
        frame = mixed_copula(100_000, rng=np.random.default_rng(2))
        holes = with_missing(frame, rng=np.random.default_rng(3))
        gone = holes[list(SOMETIMES_MISSING)].isna()
        assert np.abs(gone.mean() - 0.15).max() < 4 * np.sqrt(0.15 * 0.85 / len(frame))
        assert not holes["y"].isna().any()
        # near one value of y, columns go missing independently of what they are
        near = frame["y"].between(0.4, 0.5)
        r = np.corrcoef(frame.loc[near, "x"], gone.loc[near, "x"])[0, 1]
        assert abs(r) < 4 / np.sqrt(near.sum())


@pytest.mark.slow
def test_a_slice_of_the_coverage_study_covers():
    draws = np.asarray([study.one_replication(r, seed=97) for r in range(4)])
    rows = pd.DataFrame(study.summarise(draws))
    assert set(rows["variant"]) == {"complete", "missing"}
    for _, part in rows[rows["scheme"] == "synthetic"].groupby("variant"):
        # the coverages of one data set go together: as if each data set had one
        assert part["coverage"].mean() > 0.95 - 4 * np.sqrt(0.95 * 0.05 / len(draws))
        assert part["shift_from_original_in_se"].abs().mean() < 4 / np.sqrt(len(draws))


@pytest.mark.parametrize("variant", ["complete", "missing"])
def test_the_committed_coverage_is_nominal(variant):
    record = committed("copula_coverage")
    rows = pd.DataFrame(study.masked(record["results"]["rows"]))
    assert set(zip(rows["sd"], rows["alpha"], rows["keep"], strict=True)) == set(study.STRENGTHS)
    assert record["settings"]["replications"] >= 2000
    assert rows.loc[rows["variant"] == variant, "coverage"].between(*study.BAND).all()


def test_the_committed_groups_are_compared_at_the_same_overlap():
    results = committed("copula_groups")["results"]
    rows = pd.DataFrame(results["rows"]).set_index("strategy")
    assert (np.abs(rows["overlap"] - copula_groups.TARGET) < 4 * rows["overlap_error"] + 0.002).all()
    one, four, graded = "one λ for all", "λ of all four per group", "graded λ of Age"
    for risk in ("averaged_expected_3", "found_medium", "found_high"):
        assert (rows.drop(one)[risk] < rows.loc[one, risk]).all()
    # with all four columns by group the many at low risk have weaker masks: single copies are not safer
    assert (rows.drop([one, four])["copies_expected_3"] < rows.loc[one, "copies_expected_3"]).all()
    assert rows[["copies_expected_3", "averaged_expected_3"]].idxmin().eq(graded).all()
    assert (REPORTS / "copula_groups" / "age_moves.svg").exists()


def test_leaving_the_groups_out_biases_the_copies():
    old = committed("copula_groups")["results"]["bias"][-1]
    assert abs(old["without H"]["mean"]) > 1
    assert abs(old["with H"]["mean"]) < abs(old["without H"]["mean"]) / 3


@pytest.mark.slow
def test_the_group_study_runs(tmp_path, monkeypatch):
    if not (SHARED / "pseudo_csrg.csv").exists():
        pytest.skip("the shared data are not here")
    monkeypatch.setattr(copula_groups, "HALVINGS", 1)
    monkeypatch.setattr(copula_groups, "STRATEGIES", copula_groups.STRATEGIES[2:3])
    quick = partial(copula_groups.FittedOnce, least_ess=2, most_r_hat=5)
    monkeypatch.setattr(copula_groups, "FittedOnce", quick)
    monkeypatch.setattr(copula_groups, "Blind", partial(copula_groups.Blind, least_ess=2, most_r_hat=5))
    results = copula_groups.STUDY.run(out=tmp_path, replications=1, jobs=1, data=SHARED)
    moved = results["rows"][0]["moved"]
    assert moved["low"]["mean_distance"] < moved["medium"]["mean_distance"]
    assert "When the model does not know the groups" in (tmp_path / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("truth", ["moderate", "strong"])
def test_posteriors_with_plugged_in_margins_are_calibrated(truth):
    rows = pd.DataFrame(committed("copula_margins")["results"]["rows"])
    rows = rows[rows["truth"] == truth]
    assert rows["entry"].tolist() == copula_margins.names()
    assert rows["coverage"].between(0.91, 0.97).all()
    assert rows["sd_z"].between(0.9, 1.15).all()


def test_a_slice_of_the_shortcut_covers():
    draws = np.asarray([copula_moments.one_cell(design="mixed", n=180, r=r, seed=97) for r in range(4)])
    truth = truth_vector(mixed_copula_truth()).to_numpy()
    low, high = draws[:, 0, 2], draws[:, 0, 3]
    # the coverages of one data set go together: as if each data set had one
    assert ((low <= truth) & (truth <= high)).mean() > 0.95 - 4 * np.sqrt(0.95 * 0.05 / len(draws))
    away = (draws[:, 0, 0] - draws[:, -1, 0]) / np.sqrt(draws[:, -1, 1])
    assert np.abs(away.mean(axis=0)).mean() < 4 / np.sqrt(len(draws))


def test_the_committed_shortcut_covers_what_is_released():
    record = committed("copula_moments")
    assert record["settings"]["replications"] >= 400
    rows = pd.DataFrame(record["results"]["rows"])
    assert {(design, n) for design, sizes in copula_moments.SIZES.items() for n in sizes} == set(
        zip(rows["design"], rows["n"], strict=True)
    )
    means = rows.groupby(["design", "n", "scheme"])["coverage"].mean().unstack()
    # with few records and columns that nearly follow from each other neither covers, and chains do worse
    few = rows["design"].eq("strong") & rows["n"].lt(1000)
    short = rows[rows["scheme"].eq("moments") & ~few]
    # the interval of a share that five records have does not cover on the original either
    covered = rows[~few].pivot_table(index=["design", "n", "term"], columns="scheme", values="coverage")
    error = np.sqrt(0.95 * 0.05 / 400)
    assert (covered["moments"] > np.minimum(covered["original"], 0.95) - 4 * error).all()
    assert short.groupby(["design", "n"])["coverage"].mean().between(*copula_moments.BAND).all()
    assert (means.loc["strong", "moments"] > means.loc["strong", "chains"])[means.loc["strong", "chains"].notna()].all()


def test_the_committed_survey_keeps_its_skips():
    record = committed("sd2011")
    results = record["results"]
    assert results["kept_columns_unchanged"]
    assert len(results["skips"]) == 8
    assert all(row["not_asked_but_answered"] == 0 for row in results["skips"])
    for row in results["skips"]:
        # everyone is asked in a copy who is asked there; of kept columns as many answer as in the original
        assert row["answered_copies"] in (1.0, row["answered_original"])
    chains = [row for row in results["chain"] if "r_hat" in row]
    assert all(row["r_hat"] <= 1.05 and min(row["ess"], row["tail_ess"]) >= 60 for row in chains)
    assert sum(results["timings"][stage] for stage in ("read", "tag", "synthesise", "evaluate")) < 600
