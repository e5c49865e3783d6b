"""Risk groups: who stands out on the keys and needs a stronger mask."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from pydantic import Field, field_validator

from synthdp import expressions
from synthdp.errors import InputError
from synthdp.microdata import Codes, Microdata
from synthdp.schema import Settings

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
        Conditions by group name, from the most specific to the most general (see :mod:`synthdp.expressions`).
    public
        As for :class:`Neighbours`.

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
    """

    labels: pd.Series
    neighbours: Codes
    public: bool

    def __repr__(self) -> str:
        return f"Tags({len(self.neighbours)} records, groups {', '.join(self.labels.cat.categories)})"


def tag(data: Microdata, settings: Neighbours | Rules | None) -> Tags:
    """Put every record into a risk group.

    Without settings, or without a key column when counting neighbours, everyone is low.

    Raises
    ------
    InputError
        If a rule names an unknown column or is no condition.

    Examples
    --------
    >>> from synthdp.microdata import resolve
    >>> from synthdp.schema import Variable
    >>> data = resolve(pd.DataFrame({"age": [30, 31, 32, 90]}), {"age": Variable(key=True, tolerance=2)})
    >>> tag(data, Neighbours(k=2)).labels.tolist()
    ['low', 'low', 'low', 'medium']
    """
    # the compiled kernel takes half a second to load, and the config needs only the settings above
    from synthdp.neighbours import count_neighbours, encode_keys

    keys = data.schema.keys()
    (within,) = encode_keys([data.frame], keys)
    neighbours = count_neighbours(within, within)
    if isinstance(settings, Rules):
        return Tags(_by_rules(data, settings), neighbours, settings.public)
    everyone = np.zeros(len(data), dtype=np.int64)
    if settings is None or not keys:
        # the same for every conceivable file, hence no secret
        return Tags(_labels(everyone, data, (LOW, MEDIUM, HIGH)), neighbours, public=True)
    (cells,) = encode_keys([data.frame], [key for key in keys if key.kind.categorical])
    sharing = count_neighbours(cells, cells)
    group = np.where(neighbours > settings.k, 0, np.where(sharing > settings.k, 1, 2))
    return Tags(_labels(group, data, (LOW, MEDIUM, HIGH)), neighbours, settings.public)


def _by_rules(data: Microdata, settings: Rules) -> pd.Series:
    names = (LOW, *(name for name in settings.rules if name != LOW))
    group = np.zeros(len(data), dtype=np.int64)
    undecided = np.ones(len(data), dtype=np.bool_)
    for name, text in settings.rules.items():
        try:
            holds = expressions.evaluate(text, data.frame)
        except InputError as error:
            raise InputError(f"groups.rules.{name}: {error}") from None
        if holds.dtype != np.bool_:
            raise InputError(f"groups.rules.{name}: must be true or false for each record; compare with something.")
        caught = undecided & holds.to_numpy()
        group[caught] = names.index(name)
        undecided &= ~caught
    return _labels(group, data, names)


def _labels(group: Codes, data: Microdata, names: tuple[str, ...]) -> pd.Series:
    labels = pd.Categorical.from_codes(group, pd.Index(names), ordered=True)
    return pd.Series(labels, index=data.frame.index, name="group")
