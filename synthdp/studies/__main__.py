"""Run a study by name: ``python -m synthdp.studies coverage``."""

import argparse
import importlib
from pathlib import Path

STUDIES = (
    "coverage",
    "tuning",
    "kinds",
    "registry",
    "authors",
    "sequential",
    "trees",
    "rules",
    "nulls",
    "intrusions",
    "gate",
    "shadow",
    "copula_sbc",
    "copula_coverage",
    "copula_groups",
    "copula_margins",
    "csrg_copula",
    "sd2011",
    "regions",
    "audits",
    "adassp",
    "dp_intervals",
    "dp_quantiles",
    "dp_agreement",
    "dp_baselines",
    "constraints",
    "group_rules",
)


def main() -> None:
    """Read the arguments and run the study."""
    parser = argparse.ArgumentParser(prog="python -m synthdp.studies", description=__doc__)
    parser.add_argument("study", choices=STUDIES)
    parser.add_argument("--replications", type=int, help="fewer for a quick look (default: the committed number)")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--data", type=Path, help="folder of the shared data sets (default: $SYNTHDP_SHARED_DATA)")
    parser.add_argument("--out", type=Path, help="folder for the results (default: reports/STUDY)")
    arguments = parser.parse_args()
    study = importlib.import_module(f"synthdp.studies.{arguments.study}")
    asked = {"replications": arguments.replications, "data": arguments.data}
    options = {name: value for name, value in asked.items() if value is not None}
    out = arguments.out or Path("reports") / arguments.study
    study.run(out=out, jobs=arguments.jobs, **options)
    print(f"Written to {out}.")


if __name__ == "__main__":
    main()
