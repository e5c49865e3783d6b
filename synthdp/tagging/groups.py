"""Risk groups: who stands out on the keys and needs a stronger mask."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Self

import numpy as np
import pandas as pd
from pydantic import Field, field_validator

from synthdp.arrays import Booleans
from synthdp.errors import InputError
from synthdp.table import expressions
from synthdp.table.microdata import Codes, Microdata
from synthdp.table.schema import Settings

LOW, MEDIUM, HIGH = "low", "medium", "high"


class Neighbours(Settings):
    """Group records by how many others look like them on the keys.

    low: at least k others share the categorical keys and are close on all numeric keys;
    medium: at least k others share the categorical keys, but fewer than k of them are close;
    high: the rest.

    Parameters
    ----------
    k
        How many others make a crowd; the record itself does not count.
    public
        Declare the groups to be public knowledge. Otherwise they are a function of the confidential data, and no
        formal statement about masks that differ by group can be made.

    References
    ----------
    Jiang, Raftery, Steele and Wang (2022), JASA 117(537), the subgroups H.

    Examples
    --------
    >>> Neighbours(k=3).method
    'neighbours'
    """

    method: Literal["neighbours"] = "neighbours"
    k: int = Field(default=5, ge=1)
    public: bool = False


class Rules(Settings):
    """Group records by rules of the user's own; the first rule that holds decides, and no rule means low.

    Parameters
    ----------
    rules
        Conditions by group name, from the most specific to the most general (see :mod:`synthdp.table.expressions`).
    public
        As for :class:`Neighbours`.

    Notes
    -----
    A rule may name columns that copies replace. With model regression copies are then drawn by the rule itself (see
    ``synthesis.ruling``); other models take a threshold in one direction on one number.

    Examples
    --------
    >>> Rules(rules={"high": "age > 85", "medium": "age > 75"}).public
    False
    """

    method: Literal["rules"] = "rules"
    rules: dict[str, str] = Field(min_length=1)
    public: bool = False

    @field_validator("rules")
    @classmethod
    def _readable(cls, rules: dict[str, str]) -> dict[str, str]:
        for text in rules.values():
            try:
                expressions.names(text)
            except InputError as error:
                raise ValueError(str(error)) from None
        return rules


@dataclass(frozen=True, repr=False)
class Tags:
    """The risk group of every record, and how many records look like it.

    Parameters
    ----------
    labels
        Ordered categorical: low, medium, high; or low and then the rules' names as given.
    neighbours
        s_i, how many records are within the tolerances of record i on all keys, itself included.
    public
        Whether the groups are public knowledge.
    rules
        What the groups are a function of, where they are by rules.
    """

    labels: pd.Series
    neighbours: Codes
    public: bool
    rules: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Tags({len(self.neighbours)} records, groups {', '.join(self.labels.cat.categories)})"

    def of(self, rows: Codes) -> Self:
        """Return the tags of some records, as they are in the whole file."""
        return replace(self, labels=self.labels.iloc[rows].reset_index(drop=True), neighbours=self.neighbours[rows])

    def again(self, data: Microdata) -> Self:
        """Return the tags with the rules read again, of records whose missing values were filled in."""
        return replace(self, labels=by_rules(data, self.rules)) if self.rules else self


def tag(data: Microdata, settings: Neighbours | Rules | None) -> Tags:
    """Put every record into a risk group.

    Without settings, or without a key column when counting neighbours, everyone is low.

    Raises
    ------
    InputError
        If a rule names an unknown column or is no condition.

    Examples
    --------
    >>> from synthdp.table.microdata import resolve
    >>> from synthdp.table.schema import Variable
    >>> data = resolve(pd.DataFrame({"age": [30, 31, 32, 90]}), {"age": Variable(key=True, tolerance=2)})
    >>> tag(data, Neighbours(k=2)).labels.tolist()
    ['low', 'low', 'low', 'medium']
    """
    # the compiled kernel takes half a second to load, and the config needs only the settings above
    from synthdp.tagging.neighbours import count_neighbours, encode_keys

    keys = data.schema.keys()
    (within,) = encode_keys([data.frame], keys)
    neighbours = count_neighbours(within, within)
    if isinstance(settings, Rules):
        return Tags(by_rules(data, settings.rules), neighbours, settings.public, settings.rules)
    everyone = np.zeros(len(data), dtype=np.int64)
    if settings is None or not keys:
        # the same for every conceivable file, hence no secret
        return Tags(_labels(everyone, data, (LOW, MEDIUM, HIGH)), neighbours, public=True)
    (cells,) = encode_keys([data.frame], [key for key in keys if key.kind.categorical])
    sharing = count_neighbours(cells, cells)
    group = np.where(neighbours > settings.k, 0, np.where(sharing > settings.k, 1, 2))
    return Tags(_labels(group, data, (LOW, MEDIUM, HIGH)), neighbours, settings.public)


def names_of(rules: Mapping[str, str]) -> tuple[str, ...]:
    """Return the groups there are: low, and then the rules' own."""
    return (LOW, *(name for name in rules if name != LOW))


def decided(rules: Mapping[str, str], holds: Sequence[Booleans]) -> Codes:
    """Return the group of each record: that of the first rule that holds, or low."""
    names = names_of(rules)
    return np.select(list(holds), [names.index(name) for name in rules], 0).astype(np.int64)


def by_rules(data: Microdata, rules: Mapping[str, str]) -> pd.Series:
    """Return the group of each record: that of the first rule that holds, or low."""
    found = []
    for name, text in rules.items():
        try:
            holds = expressions.evaluate(text, data.frame)
        except InputError as error:
            raise InputError(f"groups.rules.{name}: {error}") from None
        if holds.dtype != np.bool_:
            raise InputError(f"groups.rules.{name}: must be true or false for each record; compare with something.")
        found.append(holds.to_numpy())
    return _labels(decided(rules, found), data, names_of(rules))


def _labels(group: Codes, data: Microdata, names: tuple[str, ...]) -> pd.Series:
    labels = pd.Categorical.from_codes(group, pd.Index(names), ordered=True)
    return pd.Series(labels, index=data.frame.index, name="group")
