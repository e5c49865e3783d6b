"""The methods on the scoreboard, each as the blocks of a config; a new one is a line of ``METHODS``."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reports.nist.scoring import SETS

# what the masks of da_mi and the partial methods replace; everything else is kept
REPLACED: Mapping[str, tuple[str, ...]] = {
    "demographic": ("AGEP", "SEX", "MSP", "RAC1P", "EDU"),
    "industry": ("SEX", "MSP", "HISP", "RAC1P", "EDU"),
}
NUMERIC: Mapping[str, dict[str, Any]] = {
    "AGEP": {"kind": "continuous", "bounds": [0, 99], "decimals": 0},
    "PINCP": {"kind": "continuous", "bounds": [-20_000, 2_000_000], "decimals": 0},
    "POVPIP": {"kind": "continuous", "bounds": [0, 501], "decimals": 0},
    "PWGTP": {"kind": "continuous", "bounds": [1, 9999], "decimals": 0},
    "WGTP": {"kind": "continuous", "bounds": [0, 9999], "decimals": 0},
}
MASK = {"AGEP": {"method": "gaussian", "sd": 1.0}}
STAY = 0.5
EACH, TWO, DEMOGRAPHIC = tuple(SETS), ("demographic", "industry"), ("demographic",)


@dataclass(frozen=True)
class Entry:
    """A method: its ``synthesis`` block, on which sets of columns it is run, how often, and what it replaces.

    ``partial``: the columns of ``REPLACED`` only, with masks where ``masked``. ``crossed``: with PUMA, where it is
    among the columns. ``sorted``: PUMA first, industry codes and incomes last and within their groups, on all columns.
    ``declared``: levels and missing cells are written down, as DP methods ask. ``stay``: with which probability masks
    leave a level as it is; two levels stay with one half, at which their mask says nothing.
    """

    synthesis: dict[str, Any]
    sets: tuple[str, ...] = EACH
    seeds: int = 5
    partial: bool = False
    masked: bool = False
    crossed: bool = False
    sorted: bool = False
    declared: bool = False
    stay: float = STAY


def _cart(leaf: int | None = None, **model: Any) -> dict[str, Any]:
    stated = {} if leaf is None else {"min_leaf": leaf}
    return {"method": "sequential", "model": {"method": "cart", **stated, **model}}


# areas, then what tables are made of, then what is nested in it and in no table
ORDER = (
    *("PUMA", "DENSITY", "AGEP", "SEX", "MSP", "HISP", "RAC1P", "HOUSING_TYPE", "OWN_RENT", "NOC", "NPF", "EDU"),
    *("INDP_CAT", "PINCP_DECILE", "POVPIP", "DVET", "DREM", "DPHY", "DEYE", "DEAR", "WGTP", "PWGTP", "PINCP", "INDP"),
)
NESTED = {"INDP": "INDP_CAT", "PINCP": "PINCP_DECILE"}


def _dp(method: str, epsilon: float, sets: tuple[str, ...] = ("industry",), **settings: Any) -> Entry:
    known = {"method": method, "epsilon": float(epsilon), "delta": 1e-6, "source": "simulated"}
    return Entry({**known, **settings}, sets, seeds=5 if method == "dp_mst" else 3, declared=True)


DEALT = {"dealing": "systematic"}
# who is asked at all, by the data dictionary
ZEROS = [
    *(f"AGEP < 15 and {name} != 'N'" for name in ("MSP", "PINCP_DECILE")),
    *(f"AGEP >= 15 and {name} == 'N'" for name in ("MSP", "PINCP_DECILE")),
    *("AGEP < 3 and EDU != 'N'", "AGEP >= 3 and EDU == 'N'", "AGEP < 17 and DVET != 'N'"),
]
TREES = {"method": "cart", "min_leaf": 200}
# leaf and runs
FRONT = ((50, 3), (100, 5), (200, 3))
METHODS: Mapping[str, Entry] = {
    "ipf": Entry({"method": "ipf", "bins": 100}, TWO),
    "ipf, 20 bins": Entry({"method": "ipf", "bins": 20, "candidates": 300_000}, ("all",), seeds=2),
    "ipf, 20 bins but of ages": Entry(
        {"method": "ipf", "bins": 20, "bins_by": {"AGEP": 100, "PINCP": 60}, "candidates": 300_000}, ("all",), seeds=2
    ),
    "ipf, crossed with PUMA": Entry({"method": "ipf"}, ("industry",), crossed=True),
    "ipf, dealt systematically": Entry({"method": "ipf", "bins": 100, "dealing": "systematic"}, TWO, crossed=True),
    "ipf, proper": Entry({"method": "ipf", "bins": 100, "proper": True}, TWO),
    "ipf of five columns": Entry({"method": "ipf", "bins": 100}, TWO, partial=True),
    "catall": Entry({"method": "catall", "bins": 100}),
    "sequential cart": Entry(_cart()),
    **{f"sequential cart, drawn, leaf {leaf}": Entry(_cart(leaf, dealing="independent")) for leaf in (5, 20, 50, 200)},
    **{f"sequential cart, dealt, leaf {leaf}": Entry(_cart(leaf, by=False), TWO, seeds=seeds) for leaf, seeds in FRONT},
    **{
        f"sequential cart, dealt by PUMA, leaf {leaf}": Entry(_cart(leaf), ("industry",), seeds=seeds, crossed=True)
        for leaf, seeds in FRONT
    },
    **{
        f"sequential cart, dealt by PUMA, sorted, leaf {leaf}": Entry(
            _cart(leaf), ("all",), seeds=seeds, crossed=True, sorted=True
        )
        for leaf, seeds in ((5, 3), (20, 5), (50, 3), (100, 3), (200, 3))
    },
    "mi by regression": Entry({"method": "mi"}, TWO, seeds=1, partial=True),
    "da_mi by regression": Entry({"method": "da_mi"}, TWO, seeds=1, partial=True, masked=True),
    "da_mi by trees, leaf 200": Entry({"method": "da_mi", "model": TREES}, TWO, seeds=2, partial=True, masked=True),
    "da_mi by auto": Entry({"method": "da_mi", "model": {"method": "auto"}}, TWO, partial=True, masked=True),
    **{
        f"da_mi by auto, levels stay at {stay:g}": Entry(
            {"method": "da_mi", "model": {"method": "auto"}},
            ("industry",),
            seeds=3,
            partial=True,
            masked=True,
            stay=stay,
        )
        for stay in (0.4, 0.3, 0.2)
    },
    "mi by auto": Entry({"method": "mi", "model": {"method": "auto"}}, TWO, partial=True),
    "da_mi by auto, every column": Entry({"method": "da_mi", "model": {"method": "auto"}}, TWO, masked=True, seeds=2),
    "dp_mst, epsilon 1": Entry(
        {"method": "dp_mst", "epsilon": 1.0, "delta": 1e-6, "source": "simulated"}, TWO, declared=True
    ),
    "dp_mst, epsilon 10": Entry(
        {"method": "dp_mst", "epsilon": 10.0, "delta": 1e-6, "source": "simulated"}, TWO, declared=True
    ),
    **{f"dp_mst, epsilon {e}, by PUMA": _dp("dp_mst", e, by="PUMA") for e in (1, 10)},
    **{f"dp_mst, epsilon {e}, plain": _dp("dp_mst", e, score="plain") for e in (1, 10)},
    "dp_aim, epsilon 1": _dp("dp_aim", 1, DEMOGRAPHIC),
    "dp_aim, epsilon 1, dealt": _dp("dp_aim", 1, DEMOGRAPHIC, **DEALT),
    "dp_aim, epsilon 1, 20 bins of age, dealt": _dp("dp_aim", 1, DEMOGRAPHIC, bins_by={"AGEP": 20}, **DEALT),
    "dp_aim, epsilon 1, quantiles of age, dealt": _dp(
        "dp_aim", 1, DEMOGRAPHIC, bins_by={"AGEP": "dp_quantiles"}, **DEALT
    ),
    "dp_aim, epsilon 1, 20 bins of age, zeros, dealt": _dp(
        "dp_aim", 1, DEMOGRAPHIC, bins_by={"AGEP": 20}, zeros=ZEROS, **DEALT
    ),
}


def settings_of(name: str, columns: str, levels: Mapping[str, list[str]]) -> dict[str, Any]:
    """Return the config of a method on a set of columns.

    Parameters
    ----------
    levels
        What the data dictionary lists, by column.
    """
    entry = METHODS[name]
    drawn = REPLACED[columns] if entry.partial else SETS[columns]
    variables: dict[str, dict[str, Any]] = {}
    for column in SETS[columns]:
        kind = NUMERIC.get(column, {"kind": "binary" if column in ("SEX", "DEYE", "DEAR") else "nominal"})
        listed = {"levels": levels[column]} if entry.declared and column not in NUMERIC else {}
        role = "replace" if column in drawn else "keep"
        variables[column] = {**kind, **listed, "role": role, "key": False}
    synthesis = {**entry.synthesis, "copies": 1}
    if entry.declared and "AGEP" in SETS[columns]:
        synthesis = {"bins_by": {"AGEP": 100}} | synthesis
    if entry.crossed and "PUMA" in SETS[columns]:
        within = {"by": "PUMA"} | ({"order": list(ORDER), "nested": NESTED} if entry.sorted else {})
        trees = "model" in synthesis
        synthesis |= {"model": synthesis["model"] | within} if trees else within
    masks = {}
    if entry.masked:
        for column in drawn:
            stay = STAY if variables[column]["kind"] == "binary" else entry.stay
            masks[column] = MASK.get(column, {"method": "transition", "keep": stay})
    return {"variables": variables, "synthesis": synthesis, "masks": masks}
