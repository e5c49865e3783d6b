"""How settings and another tool's files fare before one gate: panel, the regression, every risk, over fresh draws."""

import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from reports.tune_files.files import File
from synthdp.config import Config, load
from synthdp.evaluation.gate import Check
from synthdp.evaluation.gate.limits import LIMITS
from synthdp.seeding import Streams
from synthdp.stages.alignment import Known, lay_beside
from synthdp.stages.draws import SHARPENED, Mechanism, count_of
from synthdp.stages.gating import judge
from synthdp.stages.intake import prepare, read
from synthdp.stages.planning import plan_of
from synthdp.synthesis.design import Design
from synthdp.synthesis.plan import Plan, Release
from synthdp.table.microdata import Microdata
from synthdp.table.schema import Kind
from synthdp.tuning.goals import Goal, Watched
from synthdp.tuning.trials import DEAR, ratio_of, without

# draws that the usefulness of settings is a mean of; all use the same streams, so that they share their noise
SEED = 3141592653589793
R_LIBRARY = "SYNTHDP_R"
"""The variable that names Rscript; R_LIBS may say where synthpop is."""
# seconds by the clock after which R is stopped: trees hang on hundreds of levels
LONGEST = 900


def settings_of(path: Path, file: File, changed: Mapping[str, Any] | None = None) -> Config:
    """Return the config in a file with the regression among its analyses, and blocks of it replaced."""
    config = load(path)
    if changed:
        written = yaml.safe_load(path.read_text(encoding="utf-8"))
        with tempfile.NamedTemporaryFile("w", suffix=".yaml", dir=path.parent, encoding="utf-8") as beside:
            yaml.safe_dump({**written, **changed}, beside, sort_keys=False, allow_unicode=True)
            beside.flush()
            config = load(Path(beside.name))
    regression = {"name": "regression", "model": file.model, "formula": file.formula}
    analyses = Config.model_validate({"data": {"path": "x.csv"}, "analyses": [regression]}).analyses
    return config.model_copy(update={"analyses": analyses})


def measured(
    config: Config, asked: Path, *, mechanism: Mechanism | None = None, draws: int | None = None, looks: int = SHARPENED
) -> dict[str, Any]:
    """Return what the gate finds over draws, and how useful they are.

    ``asked`` is the config as it was before tuning: what it declares is what copies are compared with, so that columns
    which tuning made coarser cost usefulness. ``looks`` says how many times as many draws there may be in doubt.
    """
    before = _used()
    if mechanism is not None:
        # files cannot be made again from halves of the records
        config = without(config, DEAR)
    table = read(config)
    data = prepare(table.frame, config, unread=table.unread)
    plan = plan_of(config, data)
    before_tuning = load(asked)
    goal = Goal("panel", prepare(table.frame, before_tuning, unread=table.unread))
    watched = Watched(config, plan, Streams(SEED), 1, None, mechanism, goal=goal)
    found = judge(watched, study=True, count=draws or count_of(config, len(data)), looks=1 if mechanism else looks)
    _, _, parts = watched.use()
    checks = [one for one in found.verdict.checks if LIMITS[one.name].judges == "risk"]
    worst: dict[str, Check] = {}
    for one in checks:
        if one.name not in worst or ratio_of(one) > ratio_of(worst[one.name]):
            worst[one.name] = one
    return {
        "panel": parts.get("panel"),
        "regression": parts.get("analyses"),
        "passed": all(one.passed for one in checks),
        "risks": {
            name: {"value": one.value, "deciding": one.deciding, "limit": one.limit, "attack": one.attack}
            for name, one in worst.items()
        },
        "draws": found.draws,
        "seconds": round(_used() - before, 1),
    }


def trees(config: Config, *, leaf: int, draws: int, work: Path) -> tuple[Mechanism | None, str, float]:
    """Let R synthpop draw the replaced columns by trees; return them as draws, its version, and its seconds."""
    table = read(config)
    data = prepare(table.frame, config, unread=table.unread)
    schema, copies = data.schema, config.synthesis.copies
    program = shutil.which(os.environ.get(R_LIBRARY, "Rscript"))
    if program is None:
        return None, "there is no Rscript", 0.0
    folder = work / f"synthpop_{leaf}"
    work.mkdir(parents=True, exist_ok=True)
    # columns that are computed from others are computed again, as ours are
    names = [column.name for column in schema.columns if column.derived is None]
    numeric = [column.name for column in schema.columns if column.name in names and not column.kind.categorical]
    frame = data.frame[names].copy()
    days = {column.name for column in schema.columns if column.kind is Kind.DATE} & set(names)
    moments = {name: pd.to_datetime(frame[name]) for name in sorted(days)}
    origins = {name: moment.min() for name, moment in moments.items()}
    for name, moment in moments.items():
        frame[name] = (moment - origins[name]).dt.days
    frame.to_csv(work / "people.csv", index=False)
    replaced = [column.name for column in schema.replaced()]
    (work / "replaced.txt").write_text("\n".join(replaced) + "\n", encoding="utf-8")
    (work / "numeric.txt").write_text("\n".join(numeric) + "\n", encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    before = _children()
    asked = [work / "people.csv", folder, 1, copies, draws, work / "replaced.txt", work / "numeric.txt", leaf]
    command = [program, str(Path(__file__).parent / "synthpop.R"), *map(str, asked)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        return None, f"stopped after {LONGEST} seconds", _children() - before
    took = _children() - before
    if done.returncode:
        return None, (done.stderr.strip().splitlines() or ["it does not say why"])[-1], took
    return _mechanism(config, data, folder, origins), done.stdout.strip().splitlines()[-1], took


def _mechanism(config: Config, data: Microdata, folder: Path, origins: Mapping[str, pd.Timestamp]) -> Mechanism:
    """Return draws that are read from a folder, one after the other; row i of a file was made from record i."""
    copies = config.synthesis.copies
    paths = sorted(folder.glob("*.csv"))
    numbers = iter(range(len(paths) // copies))

    def drawn(plan: Plan, streams: Streams) -> Release:
        number = next(numbers)
        tables = [_read(path, origins) for path in paths[number * copies : (number + 1) * copies]]
        laid = lay_beside(config, data, tables, groups=None, known=Known(aligned=True, sure=True))
        design = Design("some", proper=False, copies=copies)
        return Release(tuple(laid.copies), "synthpop", "reiter2003", "none", design=design)

    return drawn


def _read(path: Path, origins: Mapping[str, pd.Timestamp]) -> pd.DataFrame:
    frame = pd.read_csv(path)
    for name, origin in origins.items():
        frame[name] = origin + pd.to_timedelta(frame[name], unit="D")
    return frame


def _used() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
