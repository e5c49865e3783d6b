"""What tuning came to: the settings, every trial in one tidy table, and pictures that draw themselves."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from synthdp.config import Config
from synthdp.config.settings import Promise
from synthdp.showing import html
from synthdp.tuning.rays import factor_of
from synthdp.tuning.space import Space, named
from synthdp.tuning.trials import Trial

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

COLUMNS = (
    "trial",
    "stage",
    "shape",
    "factor",
    "draws",
    "seconds",
    "passed",
    "kind",
    "name",
    "of",
    "value",
    "high",
    "limit",
)


@dataclass(frozen=True, repr=False)
class Plots:
    """The pictures of a search, as plotly figures."""

    of: "Tuned"

    def front(self) -> "Figure":
        """Return risk against usefulness: every trial, the limit, the chosen point."""
        from synthdp.tuning.drawing import figure, front

        return figure(front(self.of))

    def strengths(self) -> "Figure":
        """Return lost usefulness and risk against the common strength of the masks, for few copies and for many."""
        from synthdp.tuning.drawing import figure, strengths

        return figure(strengths(self.of))

    def columns(self) -> "Figure":
        """Return which column pays: what a weaker mask of each would gain, and what it would cost."""
        from synthdp.tuning.drawing import columns, figure

        return figure(columns(self.of))


@dataclass(frozen=True, repr=False)
class Tuned:
    """The most useful settings that were found within every limit, and how they were found.

    Parameters
    ----------
    space
        What there was to choose from.
    trials
        Every trial, in order.
    chosen
        The trial of the answer, on fresh draws.
    cautions
        What a person should know before signing, in sentences.
    records
        How many the file has.
    """

    space: Space
    trials: tuple[Trial, ...]
    chosen: Trial
    cautions: tuple[str, ...] = ()
    records: int = 0

    def __repr__(self) -> str:
        return f"Tuned({len(self.trials)} trials, usefulness {self.chosen.use:.3f})"

    @property
    def settings(self) -> Config:
        """The config of the answer, with what a run of it is expected to come to."""
        config = self.space.config_of(self.chosen.shape, self.chosen.rung)
        return config.model_copy(update={"tuned": self.promise(), "seed": None})

    def promise(self) -> Promise:
        """Return what a run of the settings is expected to come to, and what choosing them has cost."""
        risks = {
            name: float(f"{one.deciding:.3g}") for name, one in self.chosen.worst().items() if one.deciding is not None
        }
        panel = self.chosen.parts.get("panel")
        # settings that tune wrote and that are tuned again were chosen twice
        before = self.space.config.tuned
        return Promise(
            trials=len(self.trials) + (before.trials if before else 0),
            bits=round(self.space.bits + (before.bits if before else 0.0), 1),
            confirmed=self.chosen.draws,
            holds=self.space.config.tuning.holds,
            use=round(self.chosen.use, 3),
            overlap=None if panel is None else round(panel, 3),
            risks=risks,
        )

    @property
    def plot(self) -> Plots:
        """The pictures: ``plot.front()``, ``plot.strengths()``, ``plot.columns()``."""
        return Plots(self)

    def table(self) -> pd.DataFrame:
        """Return one line per trial and figure: the settings' own strength, usefulness, and the worst of each limit."""
        return table_of(self.space, self.trials)

    def binding(self) -> str:
        """Return the limit that comes closest to its figure in the answer."""
        worst = self.chosen.worst()
        return max(worst, key=lambda name: (worst[name].deciding or 0.0) / (worst[name].limit or 1.0), default="")

    def _repr_html_(self) -> str:
        rows = [
            (name, one.attack, f"{one.deciding:.3g}", f"{one.limit:g}")
            for name, one in self.chosen.worst().items()
            if one.deciding is not None
        ]
        rows.append(("usefulness", self.space.config.tuning.goal, f"{self.chosen.use:.3f}", ""))
        return html(repr(self), ("", "of", "figure", "limit"), rows, self.cautions)


def table_of(space: Space, trials: Sequence[Trial]) -> pd.DataFrame:
    """Return the tidy table of some trials."""
    rows: list[dict[str, Any]] = []
    for number, trial in enumerate(trials, start=1):
        about: dict[str, Any] = {
            "trial": number,
            "stage": trial.stage,
            "shape": named(space, trial.shape, trial.rung),
            "factor": round(factor_of(trial.rung), 4),
            "draws": trial.draws,
            "seconds": round(trial.seconds, 2),
            "passed": trial.passed,
        }
        if trial.problem:
            rows.append(about | {"kind": "problem", "name": trial.problem})
            continue
        rows.append(about | {"kind": "use", "name": "usefulness", "value": trial.use})
        rows += [about | {"kind": "use", "name": name, "value": value} for name, value in trial.parts.items()]
        rows += [
            about
            | {"kind": "risk", "name": name, "of": one.attack, "value": one.value, "high": one.high, "limit": one.limit}
            for name, one in trial.worst().items()
        ]
    return pd.DataFrame(rows, columns=list(COLUMNS))
