"""The search as one HTML page that needs nothing but itself."""

import math
from collections.abc import Sequence
from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from synthdp import __version__
from synthdp.evaluation.blocks import DASH, Table, number
from synthdp.evaluation.gate import LIMITS
from synthdp.report.page import Sheet
from synthdp.report.plots import Figure, plotly_js
from synthdp.report.words import attack_title
from synthdp.tuning import drawing
from synthdp.tuning.leaves import TREES
from synthdp.tuning.result import Tuned
from synthdp.tuning.space import Space, named
from synthdp.tuning.trials import Trial, ratio_of

MOST_ROWS = 40


def render(tuned: Tuned) -> str:
    """Return the page of a search that found something."""
    pictures = [drawing.front(tuned)]
    missing = []
    if drawing.has_strengths(tuned.trials):
        pictures.append(drawing.strengths(tuned))
    else:
        missing.append("error and risk against the strength of the masks")
    if drawing.has_columns(tuned.trials):
        pictures.append(drawing.columns(tuned))
    elif len(tuned.space.columns) > 1:
        missing.append("which column pays")
    vary = tuned.space.config.tuning.vary
    absent = f"Not drawn, for the budget was spent: {' and '.join(missing)}." if missing and "masks" in vary else ""
    chosen = tuned.chosen
    if chosen.shape.model == TREES:
        absent = "Trees have no masks, so that nothing is drawn of strengths and columns."
    lead = (
        f"{len(tuned.trials)} trials on {tuned.records:,} records. The most useful settings that hold: usefulness "
        f"{chosen.use:.3f} ({named(tuned.space, chosen.shape, chosen.rung)})."
    )
    tables = [_answer(tuned), _masks(tuned), _trials(tuned.space, tuned.trials)]
    return _page("Tuned settings", lead, tuned.cautions, pictures, tables, "", absent)


def render_refused(space: Space, trials: Sequence[Trial], said: Sequence[str], change: str) -> str:
    """Return the page of a search that found nothing."""
    return _page("Nothing satisfies the limits", said[0], said[1:], [], [_trials(space, trials)], change)


def _page(
    title: str,
    lead: str,
    cautions: Sequence[str],
    pictures: Sequence[Figure],
    tables: Sequence[Table],
    change: str,
    absent: str = "",
) -> str:
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(_template),
    )
    environment.globals["draw"] = lambda chart: ()
    environment.filters["marked"] = lambda text: text
    return environment.get_template("tuning.html").render(
        title=title,
        lead=lead,
        cautions=[sentence.strip() for sentence in cautions],
        pictures=pictures,
        tables=tables,
        change=change,
        absent_pictures=absent,
        sheet=Sheet(),
        style=Markup(_template("style.css")),
        plotly_js=Markup(plotly_js() if pictures else ""),
        version=__version__,
    )


def _template(name: str) -> str:
    home = "synthdp.tuning" if name == "tuning.html" else "synthdp.report"
    return files(home).joinpath(name).read_text(encoding="utf-8")


def _answer(tuned: Tuned) -> Table:
    rows = [
        (
            LIMITS[name].title,
            _figure(name, one.value),
            _figure(name, one.deciding),
            _figure(name, one.limit),
            attack_title(one.attack),
        )
        for name, one in tuned.chosen.worst().items()
    ]
    head = ("Risk, on fresh draws", "Mean", "Upper bound", "Limit", "By")
    return Table("Every limit", head, tuple(rows), "lrrrl")


def _masks(tuned: Tuned) -> Table:
    config = tuned.settings
    rows = [(name, "all" if config.masks_by_group else DASH, mask.describe()) for name, mask in config.masks.items()]
    for group, masks in config.masks_by_group.items():
        rows += [(name, group, mask.describe()) for name, mask in masks.items()]
    return Table("Masks", ("Column", "Risk group", "Mask"), tuple(rows), "lll")


def _trials(space: Space, trials: Sequence[Trial]) -> Table:
    """Return the most useful trials: first those that passed."""
    order = sorted(enumerate(trials, start=1), key=lambda one: (not one[1].passed, -one[1].use))
    rows = []
    for place, trial in [one for one in order if one[1].stage in drawing.STAGES][:MOST_ROWS]:
        worst = max(trial.worst().values(), key=ratio_of, default=None)
        rows.append(
            (
                str(place),
                drawing.STAGES[trial.stage][0],
                named(space, trial.shape, trial.rung) if not trial.problem else trial.problem,
                DASH if trial.shape.model == TREES else number(2 ** (trial.rung / 4)),
                number(trial.use) if math.isfinite(trial.use) else DASH,
                DASH if worst is None else f"{ratio_of(worst):.2f} ({LIMITS[worst.name].brief})",
                "yes" if trial.passed else "no",
            )
        )
    head = ("Trial", "Stage", "Settings", "Strength", "Usefulness", "Largest risk, in limits", "Passed")
    caption = f"The {len(rows)} most useful of {len(trials)} trials; age ×0.5: masked half as strongly as the others"
    return Table(caption, head, tuple(rows), "rllrrll")


def _figure(name: str, value: float | None) -> str:
    if value is None:
        return DASH
    return f"{value:.2%}" if LIMITS[name].share else f"{value:.3g}"
