"""The verdict over shards: who is found in memory is found over shards, and the same however many there are."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthdp.config import Config, parse
from synthdp.errors import InputError
from synthdp.evaluation.gate import Thresholds
from synthdp.stages.sharded import finding, judging, sample
from synthdp.stages.sharded.assessing import assess_shards
from synthdp.stages.sharded.judging import JudgedShards, judge
from tests.unit.stages.sharded.held import file_of

N = 4000


@pytest.fixture(autouse=True)
def smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rest the verdict on a sample that is smaller than the file."""
    inner = sample.sample_of

    def small(*given: Any, **named: Any) -> sample.Sample:
        return inner(*given, **{"size": 1500, "typical": 150, "exposed": (20, 20)} | named)

    monkeypatch.setattr(judging, "sample_of", small)
    monkeypatch.setattr(finding, "FEW", 500)


def people(n: int = N, seed: int = 1) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    z = draw.normal(size=n)
    return pd.DataFrame(
        {
            "z": z.round(3),
            "area": draw.choice(list("ab"), n),
            "age": (50 + 8 * z + 9 * draw.normal(size=n)).round(1),
            "sex": draw.choice(["F", "M"], n),
        }
    )


def settings(sd: float = 2.0, limits: dict[str, Any] | None = None, **variables: Any) -> Config:
    return parse(
        {
            "data": {"path": "in memory"},
            "variables": {
                "z": {"key": False},
                "area": {"key": False},
                "age": {"kind": "continuous", "role": "replace", "key": True, "tolerance": 3, "decimals": 1},
                "sex": {"role": "replace", "key": True},
            }
            | variables,
            "masks": {"age": {"method": "gaussian", "sd": sd}, "sex": {"method": "shifted_normal", "alpha": 0.3}},
            "synthesis": {"copies": 2, "sweeps": 5},
            "release": {"draws": 12, "max_memorised": None} | (limits or {}),
        }
    )


def verdict(folder: Path, frame: pd.DataFrame, config: Config, shards: int = 3, **more: Any) -> JudgedShards:
    return judge(file_of(config, frame, folder, count=shards), **more)


def figure(found: JudgedShards, name: str, attack: str) -> Any:
    return next(one for one in found.judged.verdict.checks if (one.name, one.attack) == (name, attack))


def test_a_harmless_file_passes_and_is_measured(tmp_path: Path) -> None:
    frame = people()
    file = file_of(settings(), frame, tmp_path)
    found = judge(file)
    assert found.judged.verdict.reasons == ()
    assert found.judged.verdict.judgement == "passed"
    asked = {one.attack for one in found.judged.verdict.checks if one.name == "max_individual"}
    assert asked == set(finding.ASKED)
    section = found.section()
    assert section["basis"] == "draws"
    assert section["draws"] == 12
    assert section["sampled"]["of"] == N
    assert "looked for among all 4,000 rows" in found.judged.notes[0]
    assert "passed" in repr(found)

    comparison, made = assess_shards(replace(file, stored=file.redrawn(12)), found)
    assert len(comparison.original) == 1500
    assert made.utility["panel"]["sampled"]["records"] == 1500
    assert made.risk["identity"]["sampled"]["candidates"] == "all"
    assert made.risk["identity"]["expected_match_rate"] <= made.risk["original"]["expected_match_rate"]
    assert made.risk["exposure"]["unique"] == int((~frame.duplicated(["z", "area"], keep=False)).sum())
    assert made.risk["verbatim"]["excess"] == 0


def test_who_stands_out_is_found_whatever_the_shards(tmp_path: Path) -> None:
    frame = people()
    frame.loc[1234, "age"] = 400.0
    found, once = (verdict(tmp_path / str(count), frame, settings(sd=0.3), shards=count) for count in (5, 1))
    assert not found.judged.verdict.passed
    assert figure(found, "max_individual", "identity_likelihood").value > 0.9
    assert figure(found, "max_individual", "identity_bayes").value > 0.9
    assert figure(found, "max_individual", "identity_extremes").value > 0.5
    assert 1235 in set(found.records_at_risk()["record"])
    for one, other in zip(once.judged.verdict.checks, found.judged.verdict.checks, strict=True):
        assert one.name == other.name
        for ours, theirs in ((one.value, other.value), (one.high, other.high)):
            assert (ours is None) == (theirs is None)
            assert ours is None or ours == pytest.approx(theirs, rel=1e-9, abs=1e-12)


def test_an_undecided_column_is_refused_before_any_draw(tmp_path: Path) -> None:
    config = settings(z={"key": None})
    found = verdict(tmp_path, people(), config)
    assert found.judged.draws == 0
    assert any(reason.startswith("undecided: z") for reason in found.judged.verdict.reasons)
    accepted = verdict(tmp_path / "again", people(1500), config, accepted={"undecided": "the board knows"}, count=2)
    assert accepted.judged.draws == 2


def test_who_is_alone_on_kept_keys_is_counted_in_the_whole_file(tmp_path: Path) -> None:
    frame = people()
    frame["area"] = frame["area"].astype(object)
    frame.loc[3999, "area"] = "c"
    found = verdict(tmp_path, frame, settings(area={"key": True}))
    assert figure(found, "max_exposed", "exposure").value == 1.0
    assert not found.judged.verdict.passed


def test_rows_of_one_person_are_not_judged_over_shards(tmp_path: Path) -> None:
    frame = people().assign(personid=np.repeat(np.arange(N // 4), 4))
    found = verdict(tmp_path, frame, settings(personid={"key": False}))
    (reason,) = found.judged.verdict.reasons
    assert reason.startswith(
        "identity_persons: largest probability that one record is found (by personid, over shards)"
    )
    assert "was not measured" in reason


def test_nothing_is_drawn_where_nothing_is_judged(tmp_path: Path) -> None:
    limits = dict.fromkeys(Thresholds.model_fields)
    found = verdict(tmp_path, people(), settings(limits=limits))
    assert found.judged.verdict.checks == ()
    assert found.records_at_risk().empty


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"data": {"path": "in memory", "cluster": "area"}}, "data.cluster: persons with several rows are judged in"),
        (
            {"evaluation": {"intruders": {"boss": {"keys": ["age"]}}}},
            "evaluation.intruders: are asked of a table in memory only",
        ),
    ],
)
def test_what_shards_cannot_answer_is_said_first(more: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    config = parse(settings().model_dump(mode="json", exclude_unset=True) | more)
    with pytest.raises(InputError, match=sentence):
        judge(file_of(config, people(), tmp_path))
