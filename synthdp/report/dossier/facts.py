"""What was measured, as the dossier needs it: the worst of every limit, before and after, with names and numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from synthdp.evaluation.blocks import entries, find, is_number, listing, number
from synthdp.evaluation.gate.verdict import UNDECIDED, Check
from synthdp.evaluation.measures.found import largest
from synthdp.report import ReportContent
from synthdp.report.reasons import Line, by_limit, checks_of, verdict_of
from synthdp.table.schema import Column, Kind

MOST_NAMES, MOST_MARGINS = 8, 6
# a longer name loses its middle: the first page is one page whatever the columns are called
LONGEST_NAME = 28
# and one that stands in brackets behind its label
SHORTEST_NAME = 16
# an ε whose factor, e to its power, is larger than this is a promise that says little
LITTLE = 100.0


@dataclass(frozen=True, repr=False)
class Facts:
    """A run's figures, by name.

    Parameters
    ----------
    content
        What the report says.
    at_risk
        How many people an intruder finds or comes close to finding; None where nobody looked.
    """

    content: ReportContent
    at_risk: int | None = None

    @cached_property
    def gate(self) -> Line:
        """The section ``gate``."""
        return find(self.content.metrics, "gate") or {}

    @cached_property
    def risk(self) -> Mapping[str, Any]:
        """The section ``risk``, of the copies themselves."""
        return find(self.content.metrics, "risk") or {}

    @cached_property
    def state(self) -> str:
        """``passed``, ``amber``, ``refused`` or ``open``."""
        return verdict_of(self.gate)

    @cached_property
    def checks(self) -> Sequence[Check]:
        """Every check that the gate made."""
        return checks_of(self.gate)

    @cached_property
    def worst(self) -> Mapping[str, Check]:
        """Of every limit the check that decides."""
        return {name: found[0] for name, found in by_limit(self.checks).items()}

    @property
    def records(self) -> int:
        """People in the file, as far as a row is a person."""
        return self.content.records

    @cached_property
    def key_names(self) -> list[str]:
        """The columns that the intruder is supposed to know."""
        judged = [str(name) for name in self.gate.get("keys") or ()]
        waiting = [check.attack for check in self.checks if check.name == UNDECIDED]
        declared = [column.name for column in self.content.comparison.schema.keys() if column.name not in waiting]
        return judged or declared + waiting

    @property
    def keys(self) -> str:
        """The same in a sentence; empty where there are none."""
        return named(self.key_names) if self.key_names else ""

    @property
    def margins(self) -> str:
        """The columns that the intruder is supposed to know, with how exactly."""
        schema = self.content.comparison.schema
        columns = {column.name: column for column in schema.columns}
        return listing(_few([self._margin(name, columns.get(name)) for name in self.key_names], MOST_MARGINS))

    def _margin(self, name: str, column: Column | None) -> str:
        notes = [shortened(name, SHORTEST_NAME)] if name in self.content.labels else []
        if column is not None and column.tolerance and not column.kind.categorical:
            notes.append(f"±{number(column.tolerance)}{' days' if column.kind is Kind.DATE else ''}")
        return f"{self.called(name)} ({', '.join(notes)})" if notes else self.called(name)

    def called(self, name: str) -> str:
        """Return what a column is called in words where its file says so, else its name; without its middle if long."""
        return shortened(self.content.labels.get(name) or name)

    def words(self, names: Sequence[str], most: int) -> str:
        """Return columns in a sentence, as they are called; those beyond a few counted."""
        return named([self.called(name) for name in names], most)

    @cached_property
    def kept(self) -> list[str]:
        """The columns that are published as they are."""
        return [column.name for column in self.content.comparison.schema.kept()]

    @cached_property
    def replaced(self) -> list[str]:
        """The columns that are drawn anew."""
        return [column.name for column in self.content.comparison.schema.replaced()]

    @property
    def epsilon(self) -> float | None:
        """The ε of the whole release; None where none is claimed."""
        value = find(self.content.metrics, "privacy", "epsilon")
        return float(value) if value is not None and is_number(value) else None

    @cached_property
    def waiting(self) -> list[str]:
        """Columns on which somebody must decide before anything is published; until then they count as known."""
        return [check.attack for check in self.checks if check.name == UNDECIDED and check.accepted is None]

    @property
    def before(self) -> Mapping[str, Any]:
        """What the same intruder finds in the original itself; nothing where they know more by now."""
        return self.content.baseline_risk or {} if not self.waiting else {}

    def of_copies(self, key: str) -> float | None:
        """Return the largest of a figure over the intruders who attacked the copies that were made."""
        return largest(self.risk, key)

    @property
    def targets(self) -> list[str]:
        """The columns whose values an intruder tried to learn."""
        return [str(one["target"]) for one in entries(self.risk.get("attribute")) if "target" in one]

    @property
    def releases(self) -> int:
        """Earlier releases of the same data that were judged along."""
        return max((one.releases for one in self.checks), default=0)


def named(names: Sequence[str], most: int = MOST_NAMES) -> str:
    """Return names in a sentence, those beyond a few counted.

    Examples
    --------
    >>> named(["age", "sex", "town"]), named(["a", "b", "c", "d"], most=3)
    ('age, sex and town', 'a, b and 2 more')
    """
    return listing(_few([shortened(name) for name in names], most))


def _few(names: Sequence[str], most: int = MOST_NAMES) -> list[str]:
    return list(names) if len(names) <= most else [*names[: most - 1], f"{len(names) - most + 1} more"]


def shortened(name: str, longest: int = LONGEST_NAME) -> str:
    """Return a name without its middle where it is longer than that.

    Examples
    --------
    >>> shortened("a_very_long_name_of_a_column_2019", 20)
    'a_very_lon…lumn_2019'
    """
    name = " ".join(name.split())
    if len(name) <= longest:
        return name
    return f"{name[: longest // 2].rstrip()}…{name[len(name) - (longest - 1) // 2 :].lstrip()}"
