"""The page of privacy regions on the command line, and the masks of a config that are offered on it."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from synthdp.cli import app
from synthdp.config import parse
from synthdp.evaluation.gate.limits import LIMITS
from synthdp.explore.regions import page
from synthdp.explore.regions.masked import masks_of

MASKS = {
    "age": {"method": "gaussian", "scale": 36.0},
    "sex": {"method": "transition", "keep": 0.8},
    "pay": {"method": "gaussian", "sd": 1.0},
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(11)
    n = 60
    frame = {"age": rng.integers(18, 91, n), "sex": rng.choice(["F", "M"], n), "pay": rng.normal(2000, 500, n).round(2)}
    pd.DataFrame(frame | {"region": rng.choice(["n", "s"], n)}).to_csv(tmp_path / "data.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def config(**changes):
    return {
        "data": {"path": "data.csv"},
        "variables": {
            "age": {"kind": "continuous", "role": "replace", "key": True, "bounds": [18, 90], "tolerance": 2},
            "sex": {"kind": "binary", "role": "replace", "key": True},
            "pay": {"kind": "continuous", "role": "replace", "key": False},
            "region": {"kind": "nominal", "role": "keep", "key": False},
        },
        "masks": MASKS,
        "synthesis": {"method": "da_mi", "copies": 4},
        "release": dict.fromkeys(LIMITS),
        "seed": 2**70,
    } | changes


def test_masks_with_a_bound_are_offered_and_the_others_explained(folder):
    found = masks_of(parse(config()))
    # width 72 over sd 36, W drawn for each of four copies: μ = √4 · 2; keep 0.8 of two levels: ε = 4 ln(0.8/0.2)
    assert [(one["name"], one["kind"], one["values"]) for one in found.bounded] == [
        ("mask of age", "maskgdp", {"mu": pytest.approx(4.0)}),
        ("mask of sex", "maskdp", {"epsilon": pytest.approx(4 * np.log(0.8 / 0.2))}),
    ]
    assert "never" not in found.bounded[0]["about"]
    assert len(found.unbounded) == 1
    assert found.unbounded[0].startswith("pay: Nothing formal is claimed: the noise is scaled by the column's own sd")


def test_a_bound_that_is_withdrawn_is_not_shown(folder):
    found = masks_of(parse(config(release={})))
    assert not found.bounded
    assert "the release gate looked at the data" in " ".join(found.unbounded)
    assert masks_of(parse(config(masks={}, synthesis={"method": "mi"}))).unbounded == (
        "The config masks nothing, so no column has a bound of its own.",
    )
    assert masks_of(parse(config(masks={}, synthesis={"method": "noise"}))).unbounded == (
        "noise is a masking for which nothing formal is claimed: no column has a bound.",
    )


def test_nothing_of_the_data_is_in_the_page(folder):
    text = page(parse(config()))
    told = json.loads(re.search(r'id="context">(.*?)</script>', text, re.DOTALL).group(1))
    assert set(told) == {"masks", "unbounded"}
    assert not [value for value in pd.read_csv("data.csv")["pay"] if str(value) in text]


def test_the_command_writes_one_page(folder):
    runner = CliRunner()
    (folder / "config.yaml").write_text(json.dumps(config()), encoding="utf-8")
    done = runner.invoke(app, ["explore", "config.yaml", "--export", "regions.html"])
    assert (done.exit_code, done.stdout) == (0, "regions.html: written; open it in a browser.\n")
    assert "mask of age" in (folder / "regions.html").read_text(encoding="utf-8")
    for args, words in (
        (["explore", "--export", "page.txt"], "--export page.txt: must be a .html file."),
        (["explore", "--export", "regions.html"], "--export regions.html: exists already and is not overwritten;"),
        (["explore", "--export", "absent/page.html"], "--export absent/page.html: the file cannot be written."),
    ):
        done = runner.invoke(app, args)
        assert done.exit_code == 2
        assert words in done.stderr
