"""Run a study by name: ``python -m reports coverage``."""

import argparse
import importlib
from pathlib import Path

STUDIES = tuple(sorted(path.parent.name for path in Path(__file__).parent.glob("*/study.py")))


def main() -> None:
    """Read the arguments and run the study."""
    parser = argparse.ArgumentParser(prog="python -m reports", description=__doc__)
    parser.add_argument("study", choices=STUDIES)
    parser.add_argument("--replications", type=int, help="fewer for a quick look (default: the committed number)")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--data", type=Path, help="folder of the shared data sets (default: $SYNTHDP_SHARED_DATA)")
    parser.add_argument("--out", type=Path, help="folder for the results (default: reports/STUDY)")
    arguments = parser.parse_args()
    study = importlib.import_module(f"reports.{arguments.study}.study")
    asked = {"replications": arguments.replications, "data": arguments.data}
    options = {name: value for name, value in asked.items() if value is not None}
    out = arguments.out or Path(__file__).parent / arguments.study
    study.run(out=out, jobs=arguments.jobs, **options)
    print(f"Written to {out}.")


if __name__ == "__main__":
    main()
