"""What whole runs cost, by size and model: python benchmarks/cost.py [--cases NAME ...] [--out reports/cost].

Every case is `synthdp run` on a simulated Parquet file in a process of its own: processor seconds, which are the same
on a busy machine, seconds of each stage, and peak memory. The constants of `synthdp.stages.cost` are fitted to these
figures (--fit), and `synthdp check --cost` is held against them.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Case:
    """One run."""

    model: str
    records: int
    columns: int = 20
    replaced: int = 6
    copies: int = 5
    keys: int = 6
    levels: int = 2

    @property
    def name(self) -> str:
        extra = "".join(
            f"_{word}{value}"
            for word, value, usual in (
                ("p", self.columns, 20),
                ("q", self.replaced, 6),
                ("m", self.copies, 5),
                ("k", self.keys, 6),
                ("l", self.levels, 2),
            )
            if value != usual
        )
        return f"{self.model}_{self.records}{extra}"


def table(case: Case) -> pd.DataFrame:
    """Return a file whose replaced columns come first: half of them numbers, half of them levels, all related."""
    rng = np.random.default_rng(1)
    n, kept = case.records, case.columns - case.replaced
    columns = {f"z{j}": np.round(rng.normal(size=n), 3) for j in range(kept - kept // 4)}
    columns |= {f"c{j}": rng.integers(0, 3, n) for j in range(kept // 4)}
    level = 0.5 * columns["z0"] + 0.3 * columns["z1"]
    made = {}
    for j in range(case.replaced):
        noisy = level + rng.normal(size=n)
        cuts = np.quantile(noisy, np.linspace(0, 1, case.levels + 1)[1:-1])
        made[f"r{j}"] = np.searchsorted(cuts, noisy) if j % 2 else np.round(noisy, 3)
    return pd.DataFrame(made | columns)


def settings(case: Case, data: Path) -> dict[str, Any]:
    """Return the config of a case."""
    numbers = [f"r{j}" for j in range(0, case.replaced, 2)]
    kind = "binary" if case.levels == 2 else "nominal"
    mask = {"method": "shifted_normal", "alpha": 0.5} if case.levels == 2 else {"method": "transition", "keep": 0.4}
    variables: dict[str, Any] = {}
    masks = {}
    for j in range(case.replaced):
        name = f"r{j}"
        variables[name] = {"role": "replace", "key": j < case.keys, "kind": "continuous" if name in numbers else kind}
        masks[name] = {"method": "gaussian", "sd": 2} if name in numbers else mask
    for name in table(Case(case.model, 10, case.columns, case.replaced)).columns[case.replaced :]:
        variables[name] = {"key": False}
    synthesis: dict[str, Any] = {"copies": case.copies}
    if case.model == "cart":
        synthesis |= {"method": "sequential", "model": {"method": "cart"}}
        masks = {}
    else:
        synthesis |= {"model": {"method": case.model}}
    return {"data": {"path": str(data)}, "variables": variables, "masks": masks, "synthesis": synthesis}


def measure(case: Case) -> dict[str, Any]:
    """Return what a run of a case took."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        table(case).to_parquet(folder / "file.parquet")
        (folder / "config.yaml").write_text(json.dumps(settings(case, folder / "file.parquet")))
        command = [sys.executable, "-m", "synthdp", "run", str(folder / "config.yaml"), "--out", str(folder / "out")]
        process = subprocess.Popen(
            [*command, "--quiet"],
            env={**os.environ, "SYNTHDP_REGISTER": "none"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        _, status, usage = os.wait4(process.pid, 0)
        found = folder / "out" / "confidential" / "metrics.json"
        if not found.exists():
            raise SystemExit(f"{case.name}: {process.stderr.read().decode()}")  # type: ignore[union-attr]
        metrics = json.loads(found.read_text())
        disk = sum(file.stat().st_size for file in (folder / "out").rglob("*") if file.is_file())
    return {
        **asdict(case),
        "name": case.name,
        "seconds": round(usage.ru_utime + usage.ru_stime, 1),
        "peak_gb": round(usage.ru_maxrss / 1e6, 3),
        "disk_mb": round(disk / 1e6, 2),
        "draws": metrics["gate"].get("draws"),
        "verdict": os.waitstatus_to_exitcode(status),
        "timings": {name: round(value, 2) for name, value in metrics["timings"].items()},
    }


CASES = [
    *(Case("regression", n) for n in (10_000, 30_000, 100_000)),
    *(Case(model, 10_000) for model in ("auto", "copula", "cart")),
    Case("regression", 30_000, keys=2),
    Case("regression", 30_000, replaced=12),
    Case("regression", 100_000, columns=40),
    Case("regression", 100_000, copies=10),
    *(Case(model, 50_000) for model in ("auto", "copula", "cart")),
    Case("regression", 300_000),
]


def tell(out: Path, rows: dict[str, dict[str, Any]]) -> None:
    """Write the page: what runs took, beside what `synthdp check --cost` says of them."""
    from shared import table as markdown

    from synthdp.stages import cost
    from synthdp.stages.cost import Work

    lines = []
    for name, row in sorted(rows.items()):
        work = Work(*(row[word] for word in ("records", "columns", "replaced", "copies", "draws", "model")))
        need = cost.in_memory(work)
        lines.append(
            [
                name,
                f"{row['seconds']:.0f}",
                f"{need.seconds:.0f}",
                f"{need.seconds / row['seconds']:.2f}",
                f"{row['peak_gb']:.2f}",
                f"{need.memory / 1e9:.2f}",
                f"{need.memory / 1e9 / row['peak_gb']:.2f}",
            ]
        )
    head = ("run", "processor seconds", "estimated", "ratio", "peak GB", "estimated", "ratio")
    text = (out / "words.md").read_text() if (out / "words.md").exists() else ""
    (out / "README.md").write_text(f"# What runs cost\n\n{text}\n{markdown(head, lines)}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="*", help="Those whose names begin so; by default those not yet measured.")
    parser.add_argument("--out", type=Path, default=Path("reports/cost"))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / "results.json"
    rows = json.loads(path.read_text()) if path.exists() else {}
    for case in CASES:
        if case.name in rows if not arguments.cases else not case.name.startswith(tuple(arguments.cases)):
            continue
        rows[case.name] = measure(case)
        print(rows[case.name], flush=True)
        path.write_text(json.dumps(rows, indent=1) + "\n")
    tell(arguments.out, rows)


if __name__ == "__main__":
    main()
