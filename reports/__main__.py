"""Run a study by name: ``python -m reports coverage``; a run that was stopped goes on where it was."""

import argparse
import os
from pathlib import Path

from reports import STUDIES, load
from reports.study import PEER_FILES


def main() -> None:
    """Read the arguments and run the study, or only write its page."""
    parser = argparse.ArgumentParser(prog="python -m reports", description=__doc__)
    parser.add_argument("study", choices=STUDIES)
    parser.add_argument("--replications", type=int, help="fewer for a quick look (default: the committed number)")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--data", type=Path, help="folder of the shared data sets (default: $SYNTHDP_SHARED_DATA)")
    parser.add_argument("--files", type=Path, help=f"files of other tools, for registry_map (default: ${PEER_FILES})")
    parser.add_argument("--out", type=Path, help="folder for the results (default: reports/STUDY)")
    parser.add_argument("--page", action="store_true", help="only write page and figures again, from the results")
    arguments = parser.parse_args()
    if arguments.files:
        # cells are counted before work begins, and both look there
        os.environ[PEER_FILES] = str(arguments.files.resolve())
    study = load(arguments.study)
    out = arguments.out or Path(__file__).parent / arguments.study
    if arguments.page:
        study.rewrite(out)
    else:
        study.run(out=out, replications=arguments.replications, jobs=arguments.jobs, data=arguments.data)
    print(f"Written to {out}.")


if __name__ == "__main__":
    main()
