"""A small file with a config, and a desk that has it open."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from synthdp.explore.desk import Desk
from synthdp.explore.session import Session

SEED = 2**80


def people(n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    age = rng.integers(20, 80, n)
    sex = rng.choice(["f", "m"], n)
    score = (0.05 * age + (sex == "f") + rng.normal(size=n)).round(1)
    return pd.DataFrame({"age": age, "sex": sex, "score": score})


def settings(**more: object) -> dict[str, object]:
    key = {"role": "replace", "key": True}
    return {
        "version": 1,
        "data": {"path": "people.csv"},
        "variables": {"age": {**key, "tolerance": 2}, "sex": key, "score": {"key": False}},
        "masks": {"age": {"method": "gaussian", "sd": 1.0}, "sex": {"method": "shifted_normal", "alpha": 1.0}},
        "synthesis": {"method": "da_mi", "copies": 3},
        "release": {"recorded_in": "none"},
        "seed": SEED,
        **more,
    }


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a folder with a file and its config."""
    people().to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(settings(), sort_keys=False))
    return tmp_path


@pytest.fixture
def desk(home: Path) -> Iterator[Desk]:
    """Return a desk with the config open."""
    found = Desk(Session(home / "out"), home=home / "out")
    found.open(home / "config.yaml")
    yield found
    found.close()
