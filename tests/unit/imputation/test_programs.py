"""Programs as the user writes them: formulas, families, and what is refused in which words."""

import importlib.util

import numpy as np
import pandas as pd
import pytest

from synthdp.config import parse
from synthdp.errors import InputError, Unfinished
from synthdp.imputation.pymc import sampling
from synthdp.imputation.pymc import terms as formulas
from synthdp.imputation.pymc.columns import Columns, Everything, Formula
from synthdp.imputation.pymc.families import Outcome
from synthdp.imputation.pymc.own import Built, OwnPymc
from synthdp.imputation.pymc.posterior import true_values
from synthdp.imputation.pymc.program import Pymc
from synthdp.imputation.pymc.sampling import Draws
from synthdp.report.summary import notes_on
from synthdp.synthesis.imputed import Mi
from synthdp.synthesis.plan import Plan
from synthdp.table.links import Link
from synthdp.table.microdata import Microdata, resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import Neighbours, tag

pm = pytest.importorskip("pymc")

REPLACED = {
    "age": Variable(role="replace", bounds=(0, 100)),
    "sex": Variable(role="replace"),
    "income": Variable(role="replace"),
    "kids": Variable(role="replace", kind="count"),
}


def people(n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    z = rng.normal(size=n)
    return pd.DataFrame(
        {
            "z": np.where(rng.random(n) < 0.1, np.nan, z),
            "region": rng.choice(["a", "b", None], n),
            "age": np.round(np.clip(45 + 9 * z + 9 * rng.normal(size=n), 1, 99), 1),
            "sex": np.where(z + rng.normal(size=n) > 0, "f", "m"),
            "income": np.exp(5 + 0.4 * z + rng.normal(size=n)),
            "kids": rng.poisson(1.5, n),
            "when": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 90, n), unit="D"),
        }
    )


def data_of(frame: pd.DataFrame | None = None, **variables) -> Microdata:
    return resolve(people() if frame is None else frame, REPLACED | variables)


def refused(model: Pymc, data: Microdata | None = None) -> str:
    return " ".join(model.problems(data or data_of()))


def links_of(data: Microdata) -> dict[str, Link]:
    return {c.name: Link.of(data, c.name) for c in data.schema.replaced() if not c.kind.categorical}


class TestFormulas:
    @pytest.mark.parametrize(
        ("formula", "words"),
        [
            ("age +", "does not parse"),
            ("age ~ sex", "write the right side only"),
            ("0 + age", "a formula keeps its constant"),
            ("__import__('os')", "'__import__' is not a function that formulas know; there are C, I, abs"),
            ("age.mean()", "'age.mean' is not a function"),
            ("log(age.real)", "Attribute is not allowed"),
            ("bs(age[0])", "Subscript is not allowed"),
            ("log(`my age`)", "a name in back ticks stands alone"),
            ("lag(age)", "'lag' is not a function"),
        ],
    )
    def test_what_cannot_be_said(self, formula, words):
        with pytest.raises(InputError, match="here: ") as caught:
            formulas.read(formula, where="here")
        assert words in str(caught.value)

    def test_a_formula_is_evaluated_on_the_columns_own_scale(self):
        data = data_of()
        links, rows = links_of(data), np.arange(len(data))
        terms = formulas.read("1 + sex * age + log(age) + region + z")
        values = true_values(data, links)
        design, matrix = Formula.learn(Columns(data, links), terms, values, np.empty((len(data), 0)))
        raw = matrix[:, :-1] * design.spread + design.center
        age, male = data.frame["age"].to_numpy(), (data.frame["sex"] == "m").to_numpy(float)
        assert np.allclose(raw[:, 0], 1.0)
        for expected in (age, male, male * age, np.log(age)):
            assert np.isclose(raw, expected[:, None], rtol=1e-9).all(axis=0).any()
        # a missing level is a level, a missing number its mean with an indicator
        gaps = data.frame["z"].isna().to_numpy(float)
        assert (matrix[:, -1] == gaps).all()
        assert np.isclose(raw, data.frame["region"].isna().to_numpy(float)[:, None]).all(axis=0).any()
        assert np.allclose(design.matrix(values, rows), matrix)
        assert design.parents == ("sex", "age")

    def test_what_is_bent_is_held_inside_the_range_and_what_is_straight_is_not(self):
        data = data_of()
        links = links_of(data)
        values = true_values(data, links)
        far = values | {"age": np.full(len(data), 50.0), "income": np.full(len(data), 50.0)}
        learn = [formulas.read("bs(age, df=4) + income")]
        design, _ = Formula.learn(Columns(data, links), learn[0], values, np.empty((len(data), 0)))
        found = design.matrix(far, np.arange(3)) * design.spread + design.center
        at_edge = values | {"age": np.full(len(data), values["age"].max()), "income": far["income"]}
        assert np.allclose(found, design.matrix(at_edge, np.arange(3)) * design.spread + design.center)
        assert np.isclose(found, links["income"].inverse(far["income"][:1])).any()
        assert design.straight_in("income")
        assert not design.straight_in("age")

    def test_a_constant_alone(self):
        data = data_of()
        design, matrix = Formula.learn(Columns(data, links_of(data)), formulas.read("1"), {}, np.empty((len(data), 0)))
        assert matrix.tolist() == [[1.0]] * len(data)
        assert design.matrix({}, np.arange(3)).tolist() == [[1.0]] * 3

    def test_without_a_formula_everything_before_enters(self):
        data = data_of()
        design = Everything(np.ones((len(data), 1)), ())
        assert design.parents == ()
        assert design.matrix({}, np.arange(4)).shape == (4, 1)


class TestRefusals:
    def test_ordinary_columns_are_taken(self):
        columns = {
            "age": {"family": "student_t", "formula": "1 + sex + bs(z, df=4)"},
            "income": {"family": "log_normal"},
        }
        assert Pymc(columns=columns).problems(data_of()) == []

    def test_what_is_not_installed(self, monkeypatch):
        real = importlib.util.find_spec
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "pymc" else real(name))
        assert refused(Pymc()) == (
            "synthesis.model: method pymc needs pymc, not installed here; pip install 'synthdp[pymc]'."
        )

    @pytest.mark.parametrize(
        ("columns", "words"),
        [
            ({"z": {}}, "synthesis.model.columns.z: not a replaced column; there are age, sex, income, kids."),
            ({"age": {"family": "poisson"}}, "poisson does not suit a continuous column; use normal or student_t"),
            ({"age": {"formula": "agee"}}, "columns.age.formula: no column named 'agee'; there are z, region, age"),
            ({"age": {"formula": "age"}}, "columns.age.formula: a column cannot explain itself."),
            (
                {"age": {"formula": "sex"}, "sex": {"formula": "income"}, "income": {"formula": "age"}},
                "needs age; leave one of them out of another's formula.",
            ),
            ({"age": {"formula": "log(sex)"}}, "columns.age.formula: cannot be computed on these columns"),
            ({"age": {"formula": "log(z)"}}, "gives infinite or undefined values in"),
            ({"age": {"formula": "z +"}}, "columns.age.formula: does not parse"),
        ],
    )
    def test_a_wrong_program_is_one_sentence(self, columns, words):
        found = Pymc(columns=columns).problems(data_of())
        assert len(found) == 1
        assert words in found[0]

    def test_an_order_against_a_formula(self):
        order = ("age", "sex", "income", "kids")
        assert refused(Pymc(columns={"age": {"formula": "sex"}}, order=order)) == (
            "synthesis.model.columns.age.formula: sex comes later in synthesis.model.order; let it come first, or "
            "leave it out of the formula."
        )
        assert Pymc(columns={"sex": {"formula": "age"}}, order=order).ordered(data_of()) == order

    def test_parents_come_first_and_the_rest_in_file_order(self):
        assert Pymc(columns={"age": {"formula": "kids"}}).ordered(data_of()) == ("sex", "income", "kids", "age")

    def test_an_excluded_column_in_a_formula(self):
        assert "z is excluded" in refused(Pymc(columns={"age": {"formula": "z"}}, exclude=("z",)))

    @pytest.mark.parametrize(
        ("variables", "change", "words"),
        [
            ({"when": Variable(role="replace")}, {}, "variables.when: pymc cannot replace dates"),
            (
                {"age": Variable(role="replace", applies_when="sex == 'f'")},
                {},
                "with applies_when; use model: regression",
            ),
            ({"name": Variable(role="replace", kind="nominal")}, {"name": range(200)}, "at most 50 levels, found 200"),
            ({}, {"kids": 0.5}, "a count needs whole numbers from 0"),
            ({}, {"kids": 900}, "pymc replaces counts up to 200"),
            ({"income": Variable(role="replace", bounds=(0, 1e6), transform="log")}, {}, "bends the column already"),
            ({}, {"income": -1.0}, "log_normal needs values above the lower bound (0 without one), found 1 others"),
            ({}, {"age": np.nan}, "pymc needs complete replaced columns, found 1 missing values"),
        ],
    )
    def test_columns_that_cannot_be_replaced(self, variables, change, words):
        frame = people()
        for name, value in change.items():
            if name not in frame or isinstance(value, range):
                frame[name] = [f"n{i}" for i in value]
            else:
                frame[name] = frame[name].astype(float)
                frame.loc[0, name] = value
        if "age" in variables:
            frame.loc[frame["sex"] != "f", "age"] = np.nan
        data = resolve(frame, REPLACED | variables)
        assert words in refused(Pymc(columns={"income": {"family": "log_normal"}}), data)

    def test_missing_values_are_not_imputed(self):
        data = data_of()
        plan = Plan(data, tag(data, Neighbours(k=3)), {}, {})
        assert Mi(model=Pymc(), missing="impute").problems(plan) == [
            "synthesis.missing: model pymc cannot impute; use copula, or missing: keep."
        ]

    def test_a_misspelt_setting_in_a_config(self):
        block = {"data": {"path": "x.csv"}, "synthesis": {"model": {"method": "pymc", "colums": {}}}}
        with pytest.raises(InputError, match=r"synthesis\.model\.colums: .*columns"):
            parse(block)


class TestSampling:
    def test_nutpie_is_used_where_it_is_installed(self, monkeypatch):
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: object() if name == "nutpie" else None)
        assert sampling.nuts_sampler() == "nutpie"
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
        assert sampling.nuts_sampler() == "pymc"

    def test_many_records_are_approximated_and_the_summary_says_so(self, monkeypatch):
        row = {"column": "age", "approximation": "ADVI"}
        monkeypatch.setattr(sampling, "approximate", lambda *a, **k: Draws({"b": np.ones(3)}, row))
        found = sampling.fit(None, Pymc(), sampling.LARGE + 1, what="age", rng=np.random.default_rng(1))
        assert len(found) == 3
        assert "The posterior of age is an approximation: ADVI." in list(notes_on({"risk": {}, "chain": [found.row]}))

    def test_chains_that_do_not_agree(self, monkeypatch):
        tried = []
        monkeypatch.setattr(pm, "sample", lambda **settings: tried.append(settings["draws"]))
        bad = {"r_hat": 1.5, "ess": 7.0, "divergences": 3.0}
        monkeypatch.setattr(sampling, "_judged", lambda trace: bad)
        with pytest.raises(Unfinished, match=r"the chains of age do not agree after 400 draws each \(R-hat 1\.50"):
            sampling.fit(None, Pymc(draws=100), 50, what="age", rng=np.random.default_rng(1))
        assert tried == [100, 200, 400]

    def test_an_approximation_that_is_too_far_off(self, monkeypatch):
        def bent(model, what):  # y = x² + a little noise: no normal density looks like it
            def falling(u):
                gap = (u[1] - u[0] ** 2) / 0.1
                return float(u[0] ** 2 / 2 + gap**2 * 0.1 / 2), np.array([u[0] - 2 * u[0] * gap, gap])

            return falling, np.zeros(2)

        monkeypatch.setattr(sampling, "_falling", bent)
        with pytest.raises(Unfinished, match=r"ADVI is too far from the posterior of age \(Pareto k"):
            sampling.approximate(None, 1000, 100.0, what="age", rng=np.random.default_rng(1))

    def test_a_normal_posterior_is_approximated_exactly_whatever_k_says(self, monkeypatch):
        root = np.array([[2.0, 0.0], [1.5, 0.1]])
        inverse = np.linalg.inv(root @ root.T)
        normal = (lambda u: (float(u @ inverse @ u / 2), inverse @ u)), np.ones(2)
        monkeypatch.setattr(sampling, "_falling", lambda model, what: normal)
        monkeypatch.setattr(sampling, "_values", lambda model, thetas: {"theta": thetas})
        for seed in range(8):
            found = sampling.approximate(None, 1000, 100.0, what="age", rng=np.random.default_rng(seed))
            assert float(found.row["ess"]) > 950
            covariance = np.cov(found.values["theta"].T)
            # the sd of a sample variance from 1,000 draws
            assert np.allclose(np.diag(covariance), np.diag(root @ root.T), rtol=4.5 * np.sqrt(2 / 1000))

    def test_a_posterior_without_a_mode(self, monkeypatch):
        monkeypatch.setattr(sampling, "_falling", lambda model, what: (lambda u: (0.0, 0.0 * u), np.zeros(2)))
        with pytest.raises(Unfinished, match="the posterior of age has no clear mode"):
            sampling.approximate(None, 1000, 100.0, what="age", rng=np.random.default_rng(1))

    def test_too_many_variables(self):
        with pm.Model() as model:
            pm.Normal("b", shape=sampling.MOST_VARIABLES + 1)
        with pytest.raises(Unfinished, match="ADVI takes at most 300 variables, the model of age has 301"):
            sampling.approximate(model, 1000, 100.0, what="age", rng=np.random.default_rng(1))

    def test_a_number_needs_its_link(self):
        with pytest.raises(TypeError, match="needs its link"):
            Outcome("log_normal", np.ones(3))._logs()


def own(**observed):
    """Return a model in which every column of ``observed`` has the distribution that a function gives it."""

    def build(data):
        with pm.Model() as model:
            level = pm.Normal("level", 0, 10, shape=2)
            made = {}
            for name, make in observed.items():
                made[name] = make(name, data, level, made)
        return model

    return build


def number(name, data, level, made):
    return pm.Normal(name, level[0], 10, observed=data[name])


class TestOwnModel:
    def small(self) -> Microdata:
        variables = {"age": REPLACED["age"], "sex": REPLACED["sex"]}
        return resolve(people()[["z", "age", "sex"]], variables)

    @pytest.mark.parametrize(
        ("build", "words"),
        [
            (lambda data: data["nobody"], "synthesis.model.build: raised KeyError when called"),
            (lambda data: 3, "must return a pm.Model, found int"),
            (own(age=number), "no observed variable named 'sex'; every replaced column needs one"),
            (
                own(age=number, sex=lambda n, d, b, m: pm.Bernoulli(n, logit_p=b[1] * m["age"], observed=d[n])),
                "sex depends on the variable 'age'; write data['age']",
            ),
            (
                own(
                    age=lambda n, d, b, m: pm.Normal(n, b[0] * d["sex"], 1, observed=d[n]),
                    sex=lambda n, d, b, m: pm.Bernoulli(n, logit_p=b[1] * d["age"], observed=d[n]),
                ),
                "leave one of them out of another's formula",
            ),
        ],
    )
    def test_what_is_wrong_with_it_is_said(self, build, words):
        assert words in refused(OwnPymc(build=build), self.small())

    def test_formulas_beside_it(self):
        model = OwnPymc(build=own(age=number), columns={"age": {}})
        assert "a model of your own has no formulas" in refused(model, self.small())

    def test_parents_are_read_off_the_model(self):
        build = own(sex=lambda n, d, b, m: pm.Bernoulli(n, logit_p=b[1] * d["age"], observed=d[n]), age=number)
        found = Built.of(build, self.small())
        assert found.parents == {"age": (), "sex": ("age",)}
