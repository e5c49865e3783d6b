"""The whole way from a file to a release that somebody could sign, on the bundled voters.

Every step is the command that a user would type; what a person decides in between is written into the config that
``init`` made, and said.
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from synthdp import config, pipeline
from synthdp.datasets import anes96
from synthdp.errors import SynthdpError
from synthdp.files import write_atomic
from synthdp.pipeline import Outcome
from synthdp.progress import Progress
from synthdp.table import io
from synthdp.tuning import writing
from synthdp.tuning.study import tune

DATA, CONFIG, SEARCH, RUN = "anes96.csv", "anes96.yaml", "tuned", "release"
# trials: enough to find the border of the first shape, to refine it and to confirm it
BUDGET = "5"
# of the models that init may write the one that is drawn fastest
METHOD = "regression"
OPINION = "an opinion given in an interview, which nobody outside can look up"
# what init asks about, and what whoever knows the survey answers
ANSWERS = {
    "TVnews": "days of watching the news, told in an interview; nobody outside can look them up",
    "selfLR": OPINION,
    "ClinLR": OPINION,
    "DoleLR": OPINION,
    "PID": "how near somebody feels to a party; nobody outside can look it up",
}
# what nobody asks for, and a person who knows the file adds
ADDED = """\
# What users of the file will want to estimate; the report compares each with the original.
analyses:
  - {name: vote for Dole, model: logit, formula: "vote ~ age + educ + income + PID + np.log(popul + 0.1)"}
  - {name: party, model: ols, formula: "PID ~ age + educ + income + TVnews"}

# The data are public, and everybody may run the demo again: nothing to record. Few draws, so that it takes a minute:
# in earnest leave out `draws` and `tuning`, and let init write its usual model and five copies.
release: {recorded_in: none, draws: 12}
tuning: {vary: [masks], confirm: 12}
"""
COPIES = 3


def tour(
    out: Path, *, init: Callable[[Path, Path, str], Iterable[str]], seed: int, jobs: int, progress: Progress
) -> Outcome:
    """Go from the voters' file to a release: ``init``, a person's answers, ``tune``, ``run``.

    Parameters
    ----------
    out
        A folder that exists and is empty.
    init
        What writes a config for a file, and says what it saw.
    seed
        Of the search and of the run; the data are public, and so may the seed be.
    """
    data, asked, search = out / DATA, out / CONFIG, out / SEARCH
    write_atomic(data, io.encode(anes96(), format="csv"), mode=0o644)
    progress.tell(f"{DATA}: 944 American voters of 1996, most of them alone with their age, education and income.")

    _step(progress, 1, "look at the file", f"synthdp init {DATA} --method {METHOD}")
    with progress.stage("init"):
        told = list(init(data, asked, METHOD))
    progress.tell(told[1])
    progress.tell(f"A person answers its DECIDE lines in {CONFIG}. May somebody outside know ...")
    for name, why in ANSWERS.items():
        progress.tell(f"  {name}? No: {why}.")
    progress.tell("They add two analyses that users will want, and ask for three copies.")
    write_atomic(asked, answered(asked.read_text(encoding="utf-8")).encode(), mode=0o644)

    _step(progress, 2, "find masks that hold", f"synthdp tune {CONFIG} --budget {BUDGET} --out {SEARCH}")
    seeded = [f"seed={seed}"]
    tune(config.load(asked, seeded), budget=BUDGET, out=search, jobs=jobs, progress=progress)

    _step(progress, 3, "make, judge, publish", f"synthdp run {SEARCH}/{writing.TUNED} --out {RUN}")
    settings = config.load(search / writing.TUNED, seeded)
    outcome = pipeline.run(settings, out=out / RUN, jobs=jobs, progress=progress)
    return _moved(outcome, out)


def left(out: Path) -> list[str]:
    """Return what the demo leaves beside the release, and how to go on."""
    return [
        f"map of risk and usefulness: {out / SEARCH / writing.REPORT}",
        f"the same settings once more: synthdp run {out / SEARCH / writing.TUNED}",
    ]


def answered(text: str) -> str:
    """Return the config that ``init`` wrote with the answers of a person.

    Raises
    ------
    SynthdpError
        When ``init`` asks something else than what is answered here.
    """
    for name, why in ANSWERS.items():
        text = re.sub(rf"^(  {name}: {{.*key: )null(.*)$", rf"\1false\2  # {why}", text, flags=re.MULTILINE)
    text = text.replace("copies: 5", f"copies: {COPIES}")
    head, found, _ = text.partition("# What users of the file will want")
    if "key: null" in head or not found:
        raise SynthdpError("demo: init asks something that the demo has no answer to.")
    return head + ADDED


def _step(progress: Progress, number: int, what: str, typed: str) -> None:
    progress.tell(f"Step {number} of 3, {what}:")
    progress.tell(f"  $ {typed}")


def _moved(outcome: Outcome, out: Path) -> Outcome:
    """Put the two folders of the run where those of every run are: directly into the demo's."""
    run = out / RUN
    for folder in sorted(run.iterdir()):
        folder.rename(out / folder.name)
    run.rmdir()
    public = None if outcome.public is None else out / outcome.public.relative_to(run)
    return Outcome(outcome.metrics, out / outcome.report.relative_to(run), public, outcome.passed, outcome.summary)
