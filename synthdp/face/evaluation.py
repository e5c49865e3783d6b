"""What `synthdp.evaluate` returns: the sections of metrics.json, as a table, in figures, and what to beware of."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from synthdp.errors import InputError
from synthdp.evaluation.blocks import find, listing, reason
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.measure import Wide
from synthdp.evaluation.measures import measure
from synthdp.evaluation.measures.found import pointing_blocks
from synthdp.face import tidy
from synthdp.face.drawing import SIDES, figure_of
from synthdp.report.charts import draw
from synthdp.report.columns import drawn
from synthdp.report.marginals import differing, kept_but_changed, marginals
from synthdp.report.plots import Figure
from synthdp.report.reasons import verdict_of
from synthdp.report.summary import GATE, rows
from synthdp.showing import html

if TYPE_CHECKING:
    import plotly.graph_objects as go

SECTIONS = ("utility", "risk", "gate")


class NoSection(InputError, KeyError):
    """A section that is not there; a KeyError as well, because Mapping.get and ``in`` rest on it."""

    __str__ = Exception.__str__


class Evaluation(Mapping[str, Any]):
    """How useful and how risky copies are: ``found["risk"]`` and the other sections are those of metrics.json.

    Parameters
    ----------
    sections
        ``utility``, ``risk`` and ``gate``.
    comparison
        The files; figures of columns are drawn from them. A pickle holds the figures instead, no record.
    notes
        What else a reader should know.

    Attributes
    ----------
    cautions
        What the command line would warn of, in sentences.
    gate
        The verdict on these files (or, judged, on draws) and its checks.
    plot
        The report's figures: ``.coefficients()``, ``.margins()``, ``.pairs()``, ``.risk()``.
    """

    def __init__(self, sections: Mapping[str, Any], comparison: Comparison, notes: Sequence[str] = ()) -> None:
        self._sections = dict(sections)
        self._size = (len(comparison.copies), len(comparison.original))
        self.cautions: tuple[str, ...] = tuple(
            dict.fromkeys((*comparison.cautions, *notes, *_changed(comparison), *_missed(self._sections)))
        )
        self.plot = Plots(self._sections, comparison)

    @property
    def gate(self) -> Mapping[str, Any]:
        """The verdict and its checks."""
        return self._sections["gate"]  # type: ignore[no-any-return]

    def table(self) -> pd.DataFrame:
        """Return one row for every figure: measure, target, value, low, high, baseline, better, reason.

        A measure that was not taken has no value but a reason. ``baseline`` is what chance, the original itself, or two
        halves of it give; ``better`` is lower, higher, zero, or (nearer to the) baseline.
        """
        return tidy.table(self._sections)

    def __getitem__(self, section: str) -> Any:
        if section not in self._sections:
            raise NoSection(f"evaluation: no section {section!r}; there are {listing(list(self._sections))}.")
        return self._sections[section]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sections)

    def __len__(self) -> int:
        return len(self._sections)

    def __repr__(self) -> str:
        copies, records = self._size
        said = f"{copies} {'copy' if copies == 1 else 'copies'} of {records} records; gate: {self._verdict()}"
        count = len(self.cautions)
        beware = f"; {count} caution{'' if count == 1 else 's'}, see .cautions" if count else ""
        return f"Evaluation({said}{beware})"

    def _repr_html_(self) -> str:
        title = repr(self).removeprefix("Evaluation(").removesuffix(")")
        return html(f"Evaluation: {title}", (), rows(self._sections), [f"Caution: {one}" for one in self.cautions])

    def _verdict(self) -> str:
        return GATE[verdict_of(self.gate)]


class Plots:
    """The report's figures of one evaluation, as plotly figures.

    Parameters
    ----------
    sections
        Of metrics.json.
    comparison
        The files; gone after unpickling, when the figures are there already.
    """

    def __init__(self, sections: Mapping[str, Any], comparison: Comparison) -> None:
        self._sections = sections
        self._files: Comparison | None = comparison
        self._drawn: dict[str, tuple[Figure, ...]] = {}

    def __repr__(self) -> str:
        return "plot: .coefficients() .margins() .pairs() .risk()"

    def __getstate__(self) -> dict[str, Any]:
        for name in _DRAWN:
            self._figures(name)
        # counts and summaries, as the report has them; a pickle must not carry the records along
        return {"_sections": self._sections, "_files": None, "_drawn": self._drawn}

    def coefficients(self, analysis: str | None = None) -> "go.Figure":
        """Return every coefficient with its interval, original above synthetic; of one analysis, if it is named."""
        return self._chosen("coefficients", analysis, "analysis", _why(self._sections, "utility", "analyses"))

    def margins(self, column: str | None = None) -> "go.Figure":
        """Return every replaced column, original against copies; a single one, if it is named."""
        return self._chosen("margins", column, "column", "no column is replaced or differs")

    def pairs(self) -> "go.Figure":
        """Return how well every two columns are preserved together: S_pMSE, of which chance gives 1."""
        return figure_of(self._figures("pairs"), "pairs", _why(self._sections, "utility", "tables"))

    def risk(self) -> "go.Figure":
        """Return how many people every intruder finds, beside what chance and the original give."""
        return figure_of(self._figures("risk"), "risk", _why(self._sections, "risk", "identity"))

    def _chosen(self, called: str, name: str | None, noun: str, why: str) -> "go.Figure":
        found = self._figures(called)
        if name is not None and name not in {figure.title for figure in found}:
            known = listing(list(dict.fromkeys(figure.title for figure in found)))
            raise InputError(f"plot.{called}: no {noun} {str(name)!r} to draw; there are {known}.")
        return figure_of([figure for figure in found if name in (None, figure.title)], called, why, SIDES)

    def _figures(self, name: str) -> tuple[Figure, ...]:
        if name not in self._drawn and self._files is not None:
            self._drawn[name] = tuple(_DRAWN[name](self._sections, self._files))
        return self._drawn.get(name, ())


def _charts(sections: Mapping[str, Any], files: Comparison, name: str) -> Iterator[Figure]:
    """Return the charts that a measure of usefulness hands to the report."""
    one, section = measure(name), find(sections, "utility", name)
    if section is None:
        return
    blocks = one.shown(sections["utility"], files) if isinstance(one, Wide) else one.blocks(section)
    yield from (figure for block in blocks for chart in block.charts for figure in draw(chart))


def _margins(sections: Mapping[str, Any], files: Comparison) -> Iterator[Figure]:
    yield from map(drawn, (*marginals(files), *differing(files)))


def _pairs(sections: Mapping[str, Any], files: Comparison) -> Iterator[Figure]:
    yield from (figure for figure in _charts(sections, files, "tables") if figure.data[0]["type"] == "heatmap")


def _risk(sections: Mapping[str, Any], files: Comparison) -> Iterator[Figure]:
    beside, *_ = pointing_blocks(sections["risk"], files, before=sections["risk"].get("original") or {})
    yield from (figure for chart in beside.charts for figure in draw(chart))


_DRAWN: Mapping[str, Callable[[Mapping[str, Any], Comparison], Iterator[Figure]]] = {
    "coefficients": lambda sections, files: _charts(sections, files, "analyses"),
    "margins": _margins,
    "pairs": _pairs,
    "risk": _risk,
}


def _why(sections: Mapping[str, Any], about: str, name: str) -> str:
    section = find(sections, about, name)
    return reason(section) or f"{name} has no figures" if section else f"evaluation.{about} does not list {name}"


def _changed(files: Comparison) -> Iterator[str]:
    """Yield what the report warns of: kept columns that are not as in the original."""
    names = kept_but_changed(files) if files.aligned else tuple(shape.column.name for shape in differing(files))
    if names:
        verb = "differs" if len(names) == 1 else "differ"
        yield (
            f"{listing(list(names))} should be as in the original (role: keep), but {verb} in at least one copy; "
            "if replaced, say so (role: replace)."
        )


def _missed(sections: Mapping[str, Any]) -> Iterator[str]:
    """Yield which measures were not taken, once for each reason: what they do not say is not 0."""
    names: dict[str, list[str]] = {}
    for about in ("utility", "risk"):
        for name, section in sections[about].items():
            parts = section.items() if name == "intruders" and isinstance(section, Mapping) else [(name, section)]
            if name == "analyses" and isinstance(section, Sequence):
                parts = [(f"{name}: {one['name']}", one) for one in section]
            for one, given in parts:
                taken = tidy.table({about: {one: given}})["value"].notna().any()
                if (why := reason(given)) and not taken:
                    names.setdefault(why.removeprefix(f"{one}: "), []).append(str(one))
    yield from (f"Not measured: {listing(found)}: {why}." for why, found in names.items())
