"""Make the files of other tools: ``python -m reports.registry_map.others FOLDER [--rscript R] [--sdv PYTHON]``.

R synthpop and SDV live in environments of their own, so they are called as programs; who is not there is left out by
name. R_LIBS may say where synthpop is. The files describe patients of the shared data: keep them out of the repository.
"""

import argparse
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from reports.registry.study import patients
from reports.study import shared_data

SEEDS = 20
COPIES = 15
HERE = Path(__file__).parent


def make(tool: str, program: str, script: str, *, data: Path, to: Path) -> None:
    """Let one tool make its files from the complete records, or say in a sentence why it did not."""
    if (found := shutil.which(program)) is None:
        print(f"{tool}: not run, there is no program {program}.")
        return
    alone = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "people.csv"
        patients(data).frame.to_csv(file, index=False)
        command = [found, str(HERE / script), str(file), str(to), str(SEEDS), str(COPIES)]
        done = subprocess.run(command, env={**os.environ, **alone}, capture_output=True, text=True)
    said = done.stderr.strip().splitlines() or ["it does not say why"]
    print(f"{tool}: {'done' if done.returncode == 0 else f'failed, {said[-1]}'}.")


def main() -> None:
    """Read the arguments and call the tools."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the files go; give it to the study as --files")
    parser.add_argument("--data", type=Path, help="folder of the shared data sets (default: $SYNTHDP_SHARED_DATA)")
    parser.add_argument("--rscript", default="Rscript", help="R with synthpop")
    parser.add_argument("--sdv", default="python-with-sdv", help="a Python with SDV")
    arguments = parser.parse_args()
    data = shared_data(arguments.data)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for tool, program, script in (
        ("synthpop", arguments.rscript, "synthpop.R"),
        ("sdv", arguments.sdv, "copula.py"),
    ):
        make(tool, program, script, data=data, to=arguments.folder.resolve())


if __name__ == "__main__":
    main()
