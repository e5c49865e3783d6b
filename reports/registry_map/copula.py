"""The study's files by SDV's Gaussian copula: PYTHON-WITH-SDV copula.py FILE FOLDER SEEDS COPIES."""

import sys
from importlib.metadata import version
from pathlib import Path

import pandas as pd
from sdv.metadata import Metadata
from sdv.single_table import GaussianCopulaSynthesizer

file, to, seeds, copies = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
people = pd.read_csv(file)
kinds = {
    name: {"sdtype": "categorical" if people[name].dropna().isin((0, 1)).all() else "numerical"} for name in people
}
model = GaussianCopulaSynthesizer(Metadata.load_from_dict({"tables": {"t": {"columns": kinds}}, "relationships": []}))
model.fit({"t": people})
# the fit has no randomness, and sampling begins at SDV's own fixed seed: one fit, and the draws one after the other
for seed in range(1, seeds + 1):
    folder = to / "sdv_copula" / f"seed_{seed:02d}"
    folder.mkdir(parents=True, exist_ok=True)
    for copy in range(1, copies + 1):
        made = model.sample(num_rows=len(people))
        table = made["t"] if isinstance(made, dict) else made
        table[list(people)].to_csv(folder / f"copy_{copy:02d}.csv", index=False)
(to / "sdv.txt").write_text(f"SDV {version('sdv')}\n")
