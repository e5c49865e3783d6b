"""Pooled estimates that draw themselves, and what may be asked of them."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from synthdp.errors import InputError
from synthdp.evaluation.blocks import is_number
from synthdp.face.arguments import text_of
from synthdp.face.drawing import figure_of
from synthdp.inference import combining
from synthdp.report.plots import BLUE, Figure, escape, labels, layout, ranges, tidy

if TYPE_CHECKING:
    import plotly.graph_objects as go

LABEL, ROW = 24, 26


class Pooled(combining.Pooled):
    """One estimate per term from several copies, with its interval; ``plot.coefficients()`` draws them.

    Examples
    --------
    >>> from synthdp.api import pool
    >>> pooled = pool([(1.0, 0.01), (1.1, 0.01), (1.2, 0.01)], names=["effect"])
    >>> len(pooled), len(pooled.plot.coefficients().data)
    (1, 2)
    """

    @classmethod
    def of(cls, found: combining.Pooled) -> "Pooled":
        """Return the same estimates, which draw themselves."""
        return cls(**{field.name: getattr(found, field.name) for field in fields(found)})

    def __repr__(self) -> str:
        # whoever asks for it at a prompt wants to read it
        return str(self)

    @property
    def plot(self) -> "PooledPlots":
        """The estimates as a figure."""
        return PooledPlots(self)


class PooledPlots:
    """The figures of pooled estimates."""

    def __init__(self, pooled: combining.Pooled) -> None:
        self._pooled = pooled

    def __repr__(self) -> str:
        return "plot: .coefficients()"

    def coefficients(self) -> "go.Figure":
        """Return every estimate with its interval; the thin upright line marks zero."""
        pooled = self._pooled
        known = [j for j in range(len(pooled)) if all(map(is_number, _ends(pooled, j)))]
        places = list(range(len(known)))[::-1]
        x: list[float | None] = []
        y: list[float | None] = []
        for place, j in zip(places, known, strict=True):
            x += [tidy(float(pooled.low[j])), tidy(float(pooled.high[j])), None]
            y += [place, place, None]
        said = [
            escape(f"{pooled.names[j]}: {pooled.estimate[j]:.4g} ({pooled.low[j]:.4g} to {pooled.high[j]:.4g})")
            for j in known
        ]
        marks: dict[str, Any] = {
            "type": "scatter",
            "mode": "markers",
            "x": [tidy(float(pooled.estimate[j])) for j in known],
            "y": places,
            "marker": {"color": BLUE, "size": 9},
            "text": said,
            "hovertemplate": "%{text}<extra></extra>",
        }
        title = f"Estimate with its {100 * pooled.level:g}% interval"
        height = 64 + ROW * len(known)
        shape = layout(height, x={"title": {"text": title}, "zeroline": True, "zerolinecolor": "#222222"})
        names = [pooled.names[j] for j in known]
        shape["yaxis"] = labels(places, names, LABEL) | {"range": [-0.6, len(known) - 0.4]}
        data = [ranges(x, y, {"color": BLUE, "width": 2.5}), marks]
        drawn = Figure(pooled.title or "estimates", data, shape, "", "", height)
        return figure_of([drawn] if known else [], "coefficients", "no estimate has an interval", ())


def _ends(pooled: combining.Pooled, j: int) -> list[float]:
    return [float(np.asarray(side)[j]) for side in (pooled.estimate, pooled.low, pooled.high)]


def check_pooling(
    asked: Sequence[str],
    ways: Mapping[str, Any],
    statistic: Any,
    bootstrap: Any,
    level: Any,
    texts: Mapping[str, Any],
) -> None:
    """Refuse arguments of the wrong kind before a library does."""
    for called, given in texts.items():
        text_of(given, called)
    for called, given in (("fit", ways["fit"]), ("statistic", statistic)):
        if given is not None and not callable(given):
            raise InputError(f"{called}: must be a function, found {type(given).__name__}.")
    if ways["estimator"] is not None and not hasattr(ways["estimator"], "fit"):
        raise InputError(f"estimator: must have a method fit, found {type(ways['estimator']).__name__}.")
    if isinstance(level, bool) or not isinstance(level, int | float):
        raise InputError(f"level: must be a number between 0 and 1, found {type(level).__name__}.")
    if not 0 < level < 1:
        raise InputError(f"level: must lie between 0 and 1, found {level:g}.")
    if isinstance(bootstrap, bool) or not isinstance(bootstrap, int):
        raise InputError(f"bootstrap: must be a whole number of resamples, found {type(bootstrap).__name__}.")
    if "model" in asked and texts["formula"] is None:
        raise InputError("formula: a model needs one, such as 'y ~ age + C(sex)'.")
