"""Nothing leaks beside the mechanism: what is public of neighbouring files is the same, but for what was paid for.

Two files differ in one record, which fits what was declared: at the bounds, of a level nobody else has, missing where
that was declared, with a decimal. Compared is all that a data user can see and that no noise stands before: types,
levels, bounds and decimals, the number of rows, notes, the claim and its shares, the rule and the design; and also that
the same things are refused. A record that does not fit is refused before anything is looked at.
"""

import json

import numpy as np
import pandas as pd
import pytest

from synthdp import release as public
from synthdp.config.settings import METHODS
from synthdp.errors import InputError
from synthdp.seeding import Streams
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.private.synthesizer import Private
from synthdp.table import io
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import Neighbours, tag

ALL = {
    "age": Variable(role="replace", kind="count", bounds=(0, 120)),
    "income": Variable(role="replace", kind="continuous", bounds=(0, 1000), decimals=1),
    "sex": Variable(role="replace", kind="binary", levels=("F", "M")),
    "region": Variable(role="replace", kind="nominal", levels=("east", "north", "west")),
    "code": Variable(role="replace", kind="nominal", levels=(1, 2, 3)),
    "born": Variable(role="replace", kind="date", bounds=(-25_567, 18_627)),
}
NUMBERS = ("age", "income")
MIXED = ("income", "sex", "region")
MISSING = ("age", "income", "region", "code")
NEEDED = {
    "dp_tables": {
        "copies": 2,
        "delta": 1e-6,
        "inference": "plug_in",
        "missing": MISSING,
        "bins": 4,
        "workload": "pairs",
    },
    "dp_aim": {"copies": 2, "delta": 1e-6, "missing": MISSING, "bins": 4},
    "dp_mst": {"copies": 2, "delta": 1e-6, "missing": MISSING, "bins": 4},
    "dp_histogram": {"copies": 2, "missing": MISSING, "bins": 2},
    "dp_sparse_histogram": {"copies": 2, "missing": MISSING, "bins": 2},
    "dp_exponential": {"copies": 2, "bins": 1, "missing": ("region",)},
    "dp_margins": {"copies": 2, "missing": MISSING},
    "local_noise": {"missing": ("region",)},
    "dp_normal": {"copies": 2, "delta": 1e-6, "inference": "plug_in"},
    "dp_kde": {"copies": 2},
    "dp_da_mi": {"copies": 2, "delta": 1e-6},
}
COLUMNS = {"dp_normal": NUMBERS, "dp_kde": NUMBERS, "dp_da_mi": MIXED}
PRIVATE = sorted(name for name, method in METHODS.items() if issubclass(method, Private))
CHANGES = {
    "at the bounds": {"age": 120, "income": 1000.0, "born": "1900-01-01"},
    "of a level that nobody has": {"region": "west", "code": 3},
    "with a decimal": {"income": 3.5},
    "with a decimal among whole numbers": {"age": 41.5},
    "like somebody else": {"age": 40, "sex": "F"},
}
GAPS = {
    "missing, so that whole numbers become floats": {"age": None, "code": None},
    "missing": {"income": None, "region": None},
}


def people(n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "age": rng.integers(20, 60, n),
            "income": rng.integers(0, 90, n).astype(float),
            "sex": rng.choice(["F", "M"], n),
            "region": rng.choice(["east", "north"], n),
            "code": rng.integers(1, 3, n),
            "born": [f"19{year:02d}-06-01" for year in rng.integers(40, 90, n)],
        }
    )


def changed(change) -> pd.DataFrame:
    frame = people()
    records = frame.to_dict("list")
    for name, value in change.items():
        records[name][-1] = value
    # types are those the values call for, as when a file is read
    return pd.DataFrame(records)


def plan_of(frame: pd.DataFrame, names) -> Plan:
    data = resolve(frame[list(names)], {name: ALL[name] for name in names})
    return Plan(data, tag(data, Neighbours()))


def dtype_of(values: pd.Series) -> str:
    """Return a type; whole numbers have that of whole numbers also where a gap that was drawn made floats of them."""
    if values.name not in ("age", "code"):
        return str(values.dtype)
    assert (values.dropna() % 1 == 0).all()
    return "int64" if values.isna().any() else str(values.dtype)


def seen(name: str, frame: pd.DataFrame, **more):
    """Return all that is public and has no noise before it."""
    method = METHODS[name](**(NEEDED[name] | {"source": "simulated"} | more))
    given = plan_of(frame, COLUMNS.get(name, tuple(ALL)))
    problems = method.problems(given)
    if problems:
        return problems
    made = method.synthesize(given, streams=Streams(3))
    described = public.describe(
        given.data.schema,
        method=made.method,
        imputations=1,
        copies=len(made.copies),
        mask_draw=None,
        rule=made.rule,
        records=len(given.data),
        masks={},
        format="csv",
        design=made.design,
        privacy=made.privacy,
    )
    levels = [column for column in given.data.schema.names() if ALL[column].levels is not None]
    return {
        "dtypes": [{column: dtype_of(copy[column]) for column in copy} for copy in made.copies],
        "rows": [len(copy) for copy in made.copies],
        "index": [copy.index.tolist() for copy in made.copies],
        "notes": method.notes(given),
        "release": json.dumps(described, default=str),
        "readme": public.readme(described),
        "codebook": public.codebook(given.data.schema, made.copies, declared_levels=levels).to_json(),
        # the rest of it is what the codebook has, and how wide the values are that were drawn
        "stored": {
            column: (kept.sort, str(kept.type)) for column, kept in io.storage(given.data.schema, made.copies).items()
        },
        "event": repr(made.privacy.event) if made.privacy is not None else "",
        "masking": [str(one) for one in made.masking],
    }


def test_every_method_is_compared():
    assert set(PRIVATE) == set(NEEDED)


@pytest.mark.parametrize("name", PRIVATE)
@pytest.mark.parametrize("change", {**CHANGES, **GAPS})
def test_neighbours_look_alike(name, change):
    gaps, columns = change in GAPS, COLUMNS.get(name, tuple(ALL))
    moved = {column: value for column, value in {**CHANGES, **GAPS}[change].items() if column in columns}
    if gaps:
        moved = {column: value for column, value in moved.items() if column in NEEDED[name].get("missing", ())}
    if not moved:
        pytest.skip("nothing that this method takes would change")
    one, two = seen(name, people()), seen(name, changed(moved))
    assert isinstance(one, dict)
    assert one == two


@pytest.mark.parametrize("name", ["dp_mst", "dp_tables", "dp_aim"])
@pytest.mark.parametrize("change", CHANGES)
def test_where_bins_are_found_and_cells_ruled_out(name, change):
    more = {"bins": "dp_quantiles", "quantiles": 3, "zeros": ("age > 115 and region == 'north'",)}
    assert seen(name, people(), **more) == seen(name, changed(CHANGES[change]), **more)


@pytest.mark.parametrize("name", ["dp_mst", "dp_tables", "dp_aim"])
def test_levels_that_are_found_say_nothing_of_those_that_are_not(name):
    variables = {"g": Variable(role="replace", kind="nominal"), "sex": ALL["sex"]}
    few = pd.DataFrame({"g": ["a", "b"] * 400, "sex": ["F", "M", "M", "F"] * 200})
    books = []
    for last in ("b", "only one", None):
        frame = few.copy()
        frame.loc[799, "g"] = last
        data = resolve(frame, variables)
        method = METHODS[name](
            **(NEEDED[name] | {"epsilon": 8.0, "copies": 2, "source": "simulated", "bins": 4, "missing": ("g",)}),
            find_levels={"g": 5},
            preprocessing=0.4,
        )
        given = Plan(data, tag(data, Neighbours()))
        assert method.problems(given) == []
        made = method.synthesize(given, streams=Streams(2))
        books.append(
            (
                public.codebook(data.schema, made.copies, declared_levels=["sex"]).to_json(),
                [str(copy["g"].dtype) for copy in made.copies],
                method.notes(given),
                made.privacy.section(),
            )
        )
    assert "only one" not in str(books)
    assert books[0] == books[1] == books[2]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"age": 130}, "variables.age: 1 values outside the bounds; first at row 200. Widen the bounds, or recode."),
        ({"region": "moon"}, "variables.region: 1 values outside the levels; first at row 200. Add them to levels, or"),
        (
            {"sex": None},
            "variables.sex: 1 values are missing and the domain has no cell for it; name the column in "
            "synthesis.missing.",
        ),
    ],
)
def test_what_does_not_fit_is_refused_without_its_value(change, sentence):
    frame = changed(change)
    try:
        problems = METHODS["dp_mst"](**NEEDED["dp_mst"]).problems(plan_of(frame, tuple(ALL)))
    except InputError as error:
        problems = [str(error)]
    assert problems
    assert sentence in problems[0]
    assert not any(str(value) in problems[0] for value in change.values())
