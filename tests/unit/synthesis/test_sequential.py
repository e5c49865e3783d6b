"""Sequential synthesis: any kind of column, gaps, dates as they are written, rules, visit order, what it refuses."""

import numpy as np
import pandas as pd
import pytest

from synthdp import config
from synthdp.errors import InputError
from synthdp.imputation.cells import write
from synthdp.imputation.regression.forward import NormLogit
from synthdp.imputation.trees.cart import Cart
from synthdp.seeding import Streams
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.sequential import Sequential
from synthdp.table.microdata import resolve
from synthdp.table.schema import Column, Variable
from synthdp.tagging.groups import tag


def people(n: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    z = rng.normal(size=n)
    smoke = rng.random(n) < 0.4
    start = pd.Timestamp("1960-01-01") + pd.to_timedelta(rng.integers(0, 20_000, n), unit="D")
    return pd.DataFrame(
        {
            "z": z,
            "sex": rng.choice(["F", "M"], n),
            "edu": pd.Categorical.from_codes(
                np.clip((z + rng.normal(size=n)).round() + 2, 0, 4).astype(int), list("abcde")
            ),
            "region": np.where(rng.random(n) < 0.05, None, rng.choice(["north", "süd", "east"], n)),
            "age": (45 + 10 * z + 5 * rng.normal(size=n)).round().astype("int32"),
            "children": rng.poisson(1.5, n),
            "income": np.where(rng.random(n) < 0.3, 0.0, np.exp(7 + 0.5 * z + 0.5 * rng.normal(size=n)).round(2)),
            "weight": 70 + 10 * z + 10 * rng.normal(size=n),
            "test": pd.array(np.where(rng.random(n) < 0.2, None, rng.integers(0, 40, n)), dtype="Int64"),
            "employed": rng.random(n) < 0.6,
            "born": start,
            "seen": start.tz_localize("Europe/Warsaw"),
            "wed": np.where(rng.random(n) < 0.3, None, start.strftime("%d/%m/%Y")),
            "smoke": np.where(smoke, "YES", "NO"),
            "cigarettes": np.where(smoke, rng.integers(1, 40, n), -8),
        }
    )


KINDS = {
    "edu": "ordinal",
    "region": "nominal",
    "age": "continuous",
    "children": "count",
    "income": "semicontinuous",
    "born": "date",
    "seen": "date",
}


def plan(frame: pd.DataFrame, replaced=None, **more) -> Plan:
    wanted = [name for name in frame.columns if name != "z"] if replaced is None else replaced
    variables = {name: Variable(role="replace", kind=KINDS.get(name)) for name in wanted} | more
    data = resolve(frame, variables)
    return Plan(data, tag(data, None))


@pytest.fixture(scope="module")
def original() -> pd.DataFrame:
    return people().drop(columns="wed")


@pytest.fixture(scope="module")
def copies(original) -> tuple[pd.DataFrame, ...]:
    given = plan(original)
    method = Sequential(copies=3)
    assert method.problems(given) == []
    return method.synthesize(given, streams=Streams(1)).copies


class TestCart:
    def test_every_sort_of_column_keeps_its_dtype(self, original, copies):
        for copy in copies:
            assert copy.dtypes.to_dict() == original.dtypes.to_dict()
            assert copy.index.equals(original.index)
            for name in ("sex", "edu", "region", "employed", "smoke"):
                assert set(copy[name].dropna()) <= set(original[name].dropna())

    def test_gaps_are_as_frequent(self, original, copies):
        for name in original.columns:
            share = original[name].isna().mean()
            pooled = np.mean([copy[name].isna().mean() for copy in copies])
            # sampled anew by three copies: the original's own error and a third of its variance
            assert abs(pooled - share) <= 4 * np.sqrt(share * (1 - share) / len(original) * (1 + 1 / 3))

    def test_gaps_depend_on_what_they_depended_on(self):
        rng = np.random.default_rng(1)
        z = np.repeat([0, 1], 300)
        frame = pd.DataFrame({"z": z, "x": np.where((z == 1) & (rng.random(600) < 0.8), np.nan, rng.normal(size=600))})
        copy = Sequential(copies=1).synthesize(plan(frame, ["x"]), streams=Streams(1)).copies[0]
        assert copy["x"][z == 0].notna().all()
        assert 0.7 < copy["x"][z == 1].isna().mean() < 0.9

    def test_relations_are_kept(self, original, copies):
        for name in ("age", "weight"):
            found = np.mean([copy[name].corr(copy["z"]) for copy in copies])
            assert found == pytest.approx(original[name].corr(original["z"]), abs=4 * 0.7 / np.sqrt(600))
        zero = [(copy["income"] == 0).mean() for copy in copies]
        assert np.mean(zero) == pytest.approx((original["income"] == 0).mean(), abs=4 * np.sqrt(0.21 / 600 * 4 / 3))

    def test_columns_follow_those_drawn_before(self):
        """The second column is the first: its copy must follow the copy of the first, not the original."""
        x = np.random.default_rng(1).integers(0, 5, 500)
        frame = pd.DataFrame({"x": x, "y": x * 10, "z": 0})
        copy = Sequential(copies=1).synthesize(plan(frame, ["x", "y"]), streams=Streams(1)).copies[0]
        assert (copy["y"] == 10 * copy["x"]).all()
        assert (copy["x"] != frame["x"]).mean() > 0.5

    def test_the_first_column_is_a_draw_from_all(self):
        frame = pd.DataFrame({"x": np.arange(400) % 8, "y": np.arange(400) % 2})
        copy = Sequential(copies=1).synthesize(plan(frame, ["x", "y"]), streams=Streams(1)).copies[0]
        assert (np.abs(copy["x"].value_counts() - 50) < 4 * np.sqrt(50)).all()
        assert (copy["y"] == copy["x"] % 2).all()

    def test_visit_order(self):
        rng = np.random.default_rng(1)
        frame = pd.DataFrame({"x": rng.normal(size=300), "y": rng.normal(size=300), "z": 1})
        forward, backward = (
            Sequential(model=Cart(order=order), copies=1)
            .synthesize(plan(frame, ["x", "y"]), streams=Streams(1))
            .copies[0]
            for order in (("x", "y"), ("y", "x"))
        )
        assert list(forward.columns) == list(backward.columns)
        assert not forward["x"].equals(backward["x"])

    def test_excluded_columns_are_not_seen(self):
        frame = pd.DataFrame({"x": np.arange(500) % 2, "z": np.arange(500) % 2})
        seen, blind = (
            Sequential(model=Cart(exclude=exclude), copies=1)
            .synthesize(plan(frame, ["x"]), streams=Streams(1))
            .copies[0]
            for exclude in ((), ("z",))
        )
        assert (seen["x"] == seen["z"]).all()
        assert abs((blind["x"] == blind["z"]).mean() - 0.5) < 4 * 0.5 / np.sqrt(500)

    def test_no_rare_number_is_released_as_it_stands(self, original, copies):
        for copy in copies:
            assert not np.isin(copy["weight"], original["weight"]).any()
            rare = original["income"].value_counts().loc[lambda counts: counts < 5].index
            # two decimals: a value may come back by chance
            assert np.isin(copy["income"], rare).mean() < 0.01
            assert copy["income"].between(0, original["income"].max()).all()
            assert np.allclose(copy["income"], copy["income"].round(2))

    def test_without_smoothing_every_number_is_a_donors(self, original):
        copy = (
            Sequential(model=Cart(smoothing=False), copies=1).synthesize(plan(original), streams=Streams(1)).copies[0]
        )
        for name in ("weight", "income", "test", "born"):
            assert copy[name].dropna().isin(original[name]).all()

    def test_declared_decimals_and_bounds(self, original):
        weight = Variable(role="replace", decimals=0, bounds=(0, 200))
        copy = Sequential(copies=1).synthesize(plan(original, [], weight=weight), streams=Streams(1)).copies[0]
        assert (copy["weight"] == copy["weight"].round()).all()

    @pytest.mark.filterwarnings("ignore:Parsing dates")
    def test_dates_as_text_keep_their_form(self):
        frame = people()[["z", "wed"]]
        data = resolve(frame, {"wed": Variable(role="replace", kind="date")})
        copy = Sequential(copies=1).synthesize(Plan(data, tag(data, None)), streams=Streams(1)).copies[0]
        assert copy["wed"].dropna().str.fullmatch(r"\d\d/\d\d/\d{4}").all()
        assert copy["wed"].isna().mean() == pytest.approx(0.3, abs=0.1)
        assert pd.to_datetime(copy["wed"], format="%d/%m/%Y").dropna().dt.year.between(1959, 2016).all()

    def test_proper_grows_new_trees_for_every_copy(self, original):
        """Means of proper copies vary about twice as much: the bootstrap's variance comes on top."""
        given = plan(original, ["age"], z=Variable(role="drop"))
        kept = tuple(column.name for column in given.data.schema.kept())
        model = Cart(exclude=kept, dealing="independent")
        spread = [
            np.var(
                [
                    copy["age"].mean()
                    for copy in Sequential(model=model, copies=80, proper=proper)
                    .synthesize(given, streams=Streams(4))
                    .copies
                ]
            )
            for proper in (False, True)
        ]
        # an F ratio on 79 and 79 degrees of freedom lies within 1.9 of 2 either way with probability 0.995
        assert 2 / 1.9 < spread[1] / spread[0] < 2 * 1.9

    def test_many_levels(self):
        rng = np.random.default_rng(1)
        frame = pd.DataFrame({"z": rng.normal(size=2_000), "job": rng.integers(0, 500, 2_000).astype(str)})
        frame["y"] = frame["job"].astype(int) / 100 + rng.normal(size=2_000)
        copy = Sequential(copies=1).synthesize(plan(frame, ["job", "y"]), streams=Streams(1)).copies[0]
        assert set(copy["job"]) <= set(frame["job"])
        assert copy["y"].corr(copy["job"].astype(int)) > 0.7

    def test_few_records(self):
        frame = pd.DataFrame({"x": [1.5, 2.5, 9.0], "b": ["u", "v", "u"]})
        copy = Sequential(copies=2).synthesize(plan(frame, ["x", "b"]), streams=Streams(1)).copies[0]
        assert copy.shape == (3, 2)
        assert copy["x"].between(1.5, 9).all()


RULE = {"cigarettes": "smoke == 'NO'"}


class TestRules:
    def test_a_rule_is_kept(self, original):
        given = plan(original)
        method = Sequential(model=Cart(rules=RULE), copies=2)
        assert method.problems(given) == []
        for copy in method.synthesize(given, streams=Streams(1)).copies:
            assert ((copy["smoke"] == "NO") == (copy["cigarettes"] == -8)).all()

    def test_a_rule_about_gaps_is_kept(self, original):
        frame = original.assign(cigarettes=original["cigarettes"].where(original["smoke"] == "YES"))
        for proper in (False, True):
            method = Sequential(model=Cart(rules=RULE), copies=1, proper=proper)
            assert method.problems(plan(frame)) == []
            copy = method.synthesize(plan(frame), streams=Streams(1)).copies[0]
            assert ((copy["smoke"] == "NO") == copy["cigarettes"].isna()).all()

    @pytest.mark.parametrize(
        ("rules", "words"),
        [
            ({"z": "smoke == 'NO'"}, "rules.z: is not a replaced column."),
            (
                {"smoke": "cigarettes == -8"},
                "rules.smoke: may name kept columns and those drawn before, found cigarettes.",
            ),
            ({"cigarettes": "smoke =="}, "cannot be read; write for example age > 85 and sex == 'F'."),
            ({"cigarettes": "z + 1"}, "rules.cigarettes: must be a condition, true or false for each record."),
            ({"cigarettes": "z > 1e9"}, "rules.cigarettes: must hold for some records, not for none."),
            ({"cigarettes": "z < 1e9"}, "rules.cigarettes: must hold for some records, not for all."),
            (
                {"cigarettes": "smoke == 'YES'"},
                "rules.cigarettes: the column must have one value where the rule holds, found 39.",
            ),
        ],
    )
    def test_rules_that_do_not_fit_are_named(self, original, rules, words):
        problem = Sequential(model=Cart(rules=rules)).problems(plan(original))
        assert len(problem) == 1
        assert problem[0].startswith("synthesis.model.rules.")
        assert problem[0].endswith(words)

    def test_a_rule_must_leave_values(self):
        frame = pd.DataFrame({"z": np.arange(20) % 2, "x": np.where(np.arange(20) % 2, 1.0, np.nan)})
        frame.loc[0, "x"] = 2.0
        good = plan(frame, ["x"])
        assert Sequential(model=Cart(rules={"x": "z == 1"})).problems(good) == []
        lone = Plan(
            good.data.__class__(frame.assign(x=np.where(frame["z"] == 1, 1.0, np.nan)), good.data.schema), good.tags
        )
        assert Sequential(model=Cart(rules={"x": "z == 1"})).problems(lone) == [
            "synthesis.model.rules.x: the column must have values where the rule does not hold, found none."
        ]


class TestNormLogit:
    def test_gaps_dates_and_counts(self, original):
        names = ["sex", "age", "children", "test", "born", "employed"]
        given = plan(original, names)
        method = Sequential(model=NormLogit(), copies=2)
        assert method.problems(given) == []
        for copy in method.synthesize(given, streams=Streams(1)).copies:
            assert copy.dtypes.to_dict() == original.dtypes.to_dict()
            assert abs(copy["test"].isna().mean() - original["test"].isna().mean()) < 4 * 0.4 * np.sqrt(2 / 600)
            assert copy["age"].corr(copy["z"]) == pytest.approx(original["age"].corr(original["z"]), abs=0.1)

    def test_gaps_of_a_binary_column(self):
        rng = np.random.default_rng(1)
        frame = pd.DataFrame({"z": rng.normal(size=800)})
        frame["b"] = np.where(
            rng.random(800) < 0.25, None, np.where(frame["z"] + rng.normal(size=800) > 0, "yes", "no")
        )
        frame["y"] = (frame["b"] == "yes") * 2 + rng.normal(size=800)
        copy = Sequential(model=NormLogit(), copies=1).synthesize(plan(frame, ["b", "y"]), streams=Streams(1)).copies[0]
        assert copy["b"].isna().mean() == pytest.approx(0.25, abs=4 * np.sqrt(0.19 / 800 * 2))
        assert copy.loc[copy["b"] == "yes", "y"].mean() == pytest.approx(2, abs=4 * 1.5 / np.sqrt(300))
        assert copy.loc[copy["b"] == "no", "y"].mean() == pytest.approx(0, abs=4 * 1.5 / np.sqrt(300))

    def test_levels_are_refused(self, original):
        problem = Sequential(model=NormLogit()).problems(plan(original, ["edu", "region"]))
        assert problem == [
            f"variables.{name}: the sequential regression replaces numbers and binary columns, this one is {kind}; "
            "use model: {method: cart}, or set role: keep."
            for name, kind in (("edu", "ordinal"), ("region", "nominal"))
        ]

    def test_text_numbers_are_written_as_text(self):
        column = Column(name="x", kind="continuous", role="replace", key=False, decimals=1)
        like = pd.Series(["1.5", None, "2.0"], name="x")
        assert write(np.array([1.26, np.nan, 3]), column, like).fillna("-").tolist() == ["1.3", "-", "3.0"]
        exact = column.model_copy(update={"decimals": None})
        assert write(np.array([0.1, 1, 2]), exact, like).tolist() == ["0.1", "1.0", "2.0"]
        mixed = pd.Series([1.5, None, 2], dtype=object)
        assert write(np.array([1.0, 2.0, 3.0]), column, mixed).tolist() == [1.0, 2.0, 3.0]

    def test_an_hour_that_the_clocks_skip(self):
        column = Column(name="t", kind="date", role="replace", key=False)
        like = pd.Series(pd.to_datetime(["2020-01-01"]).tz_localize("Europe/Warsaw"), name="t")
        skipped = (pd.Timestamp("2020-03-29 02:30") - pd.Timestamp(0)) / pd.Timedelta(days=1)
        assert write(np.array([skipped]), column, like)[0] == pd.Timestamp("2020-03-29 03:00", tz="Europe/Warsaw")


@pytest.mark.parametrize("model", [Cart, NormLogit])
def test_what_does_not_fit_is_named(original, model):
    given = plan(original, ["age", "sex"])
    assert Sequential(model=model(order=("age",))).problems(given) == [
        "synthesis.model.order: must list each replaced column once (sex, age)."
    ]
    assert Sequential(model=model(exclude=("age",))).problems(given) == [
        "synthesis.model.exclude: 'age' is not a kept column."
    ]
    assert Sequential(model=model()).problems(plan(original, [])) == [
        "variables: no column has role: replace; nothing would be synthesised."
    ]


def test_progress_is_told():
    frame = pd.DataFrame({"x": np.arange(40) % 4, "z": 0})
    told = []
    Sequential(copies=3).synthesize(plan(frame, ["x"]), streams=Streams(1), advance=lambda *step: told.append(step))
    assert told == [(1, 3), (2, 3), (3, 3)]


class TestConfig:
    def read(self, **block):
        return config.parse({"data": {"path": "x.csv"}, "synthesis": {"method": "sequential"} | block}).synthesis

    def test_cart_is_the_default(self):
        assert self.read() == Sequential(model=Cart())
        assert self.read(model={"min_leaf": 9}).model == Cart(min_leaf=9)
        assert self.read(model={"method": "regression", "link": "probit"}).model == NormLogit(link="probit")

    @pytest.mark.parametrize(
        ("block", "sentence"),
        [
            ({"propper": True}, "synthesis.propper: unknown key; did you mean 'proper'?"),
            ({"model": {"min_lef": 3}}, "synthesis.model.min_lef: unknown key; did you mean 'min_leaf'?"),
            (
                {"model": {"method": "regression", "lnk": "logit"}},
                "synthesis.model.lnk: unknown key; did you mean 'link'?",
            ),
            (
                {"model": {"method": "catr"}},
                "synthesis.model.method: must be one of cart, regression; found 'catr'; did you mean 'cart'?",
            ),
            ({"model": {"min_leaf": 0}}, "synthesis.model.min_leaf: must be greater than or equal to 1."),
            ({"model": {"rules": {"x": 3}}}, "synthesis.model.rules.x: must be text."),
        ],
    )
    def test_what_is_wrong_is_named(self, block, sentence):
        with pytest.raises(InputError) as error:
            self.read(**block)
        assert error.value.problems == (sentence,)
