"""The cases of the oracle: each makes its files in an empty folder and returns what came of it.

Cases call the command line and the functions of ``import synthdp``; they name nothing inside.
"""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import inside
import numpy as np
import pandas as pd
import pyreadstat
import survey
import yaml
from observing import CONFIGS, digest, evaluate, plain, public, run, settings, simple, synthdp, table

OTHERS = ("other_1.csv", "other_2.csv", "other_3.csv")
SHUFFLED = ("shuffled_1.csv", "shuffled_2.csv", "shuffled_3.csv")
DP = ("dp_histogram", "dp_sparse_histogram", "dp_exponential", "dp_margins", "dp_mst", "dp_mst_pure", "local_noise")
AWARE = (
    "dp_tables",
    "dp_tables_pairs",
    "dp_tables_triples",
    "dp_tables_analyses",
    "dp_tables_scores",
    "dp_aim",
    "dp_aim_triples",
    "dp_aim_analyses",
    "dp_normal",
    "dp_normal_plain",
    "dp_mst_aware",
    "dp_da_mi",
    "dp_aim_found",
    "dp_mst_found",
    "dp_tables_found",
)
CURVES = ("dp_kde", "dp_kde_gaussian", "dp_kde_sobolev")
TABLES = ("ipf", "ipf_dealt", "catall")
MASKINGS = ("k_anonymity", "pram", "k_pram", "k_noise")
SDC = (
    "noise",
    "noise_laws",
    "noise_even",
    "microaggregation",
    "rank_swap",
    "top_bottom",
    "top_bottom_edge",
    "local_suppression",
    "k_pram_shuffle",
    "k_pram_matrix",
    "k_noise_moving",
    "pram_invariant",
)
FUNCTIONS = (
    "abs(age - 50) > 20 and log(age) > 3",
    "exp(kids) > 2 or sqrt(age) < 5",
    "floor(score / 10) == 5 or ceil(score / 10) == 5",
    "min(age, 40) + max(kids, 1) > 30",
    "round(score, 0) > 60 or round(age / 10) == 4",
    "where(sex == 'F', age, kids) > 30 and not isnull(score)",
    "cut(age, [30, 60], ['young', 'middle', 'old']) in ['young', 'old']",
    "20 < age <= 40 and region not in ['north'] and kids * 2 - 1 >= 1 and age ** 2 != 900",
)


@dataclass(frozen=True)
class Case:
    """What a case does, the configs it reads, whether it takes more than some seconds, and how it is done."""

    make: Callable[[], dict[str, Any]]
    configs: tuple[str, ...] = ()
    slow: bool = False


def observe(case: Case, folder: Path) -> dict[str, Any]:
    """Return what a case finds in an empty folder."""
    import synthdp as package

    survey.write(folder)
    for path in CONFIGS.glob("*.yaml"):
        shutil.copy(path, folder)
    before, register = Path.cwd(), os.environ.get("SYNTHDP_REGISTER")
    days = {_today()}
    os.environ["SYNTHDP_REGISTER"] = "none"
    os.chdir(folder)
    try:
        found = case.make()
        days.add(_today())
    finally:
        os.chdir(before)
        if register is None:
            del os.environ["SYNTHDP_REGISTER"]
        else:
            os.environ["SYNTHDP_REGISTER"] = register
    text = json.dumps(simple(found), ensure_ascii=False).replace(f"synthdp {package.__version__}", "synthdp VERSION")
    for day in days:
        text = text.replace(day, "TODAY")
    read: dict[str, Any] = json.loads(text)
    return read


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _ran(*configs: str, options: tuple[str, ...] = ()) -> Callable[[], dict[str, Any]]:
    return lambda: {config: run(config, *options) for config in configs}


def _released(config: str, *questions: tuple[str, ...]) -> Callable[[], dict[str, Any]]:
    """Return a run whose public files a data user then checks and analyses."""

    def make() -> dict[str, Any]:
        found = {"run": run(config), "verify": synthdp("verify", f"out_{config}")}
        for number, question in enumerate(questions):
            found[f"analyse {number}"] = synthdp("analyse", f"out_{config}/public", *question)
        return found

    return make


def _private() -> dict[str, Any]:
    found: dict[str, Any] = {name: run(name, "--study") for name in DP}
    import synthdp as package

    for name in DP:
        release = package.synthesize(_frame(), settings(name), seed=settings(name)["seed"])
        found[f"{name} in memory"] = [digest(copy) for copy in release.copies]
    return found


def _frame() -> pd.DataFrame:
    import synthdp as package

    return package.read(Path("survey.csv"))


def _python() -> dict[str, Any]:
    """Return what the functions give for notebooks."""
    import synthdp as package

    frame, chosen = _frame(), settings("nested") | {"evaluation": {"utility": ["pmse"], "risk": ["identity"]}}
    release = package.synthesize(frame, chosen, seed=2**70 + 1)
    copies = [pd.read_csv(name) for name in OTHERS]

    def slope(one: pd.DataFrame) -> tuple[Any, Any]:
        return np.array([one["income"].mean()]), np.array([[one["income"].var() / len(one)]])

    pooled = {
        rule: _pooled(package.pool(copies, model="ols", formula="income ~ age", rule=rule))
        for rule in inside.rules()
        if rule not in ("reiter2004", "rubin2003", "reiter2003_nested")
    }
    synthdp("run", "nested.yaml", "--out", "made")
    public_files = Path("made/public")
    described = json.loads((public_files / "release.json").read_text())
    nests = {
        "reiter2004": {},
        "rubin2003": {"design": described["design"] | {"replaced": "none"}},
        "reiter2003_nested": {
            "imputations": 1,
            "design": described["design"] | {"imputed": False, "mask_draws": 2},
            "files": described["files"],
        },
    }
    for rule, changes in nests.items():
        # no method of today makes the other designs, but release.json can tell of them
        (public_files / "release.json").write_text(json.dumps(described | changes | {"rule": rule}))
        try:
            pooled[rule] = _pooled(package.pool(public_files, model="mean", formula="age", rule=rule))
        except Exception as error:
            pooled[rule] = {"said": plain(str(error))}
    return {
        "copies": [digest(copy) for copy in release.copies],
        "repr": repr(release),
        "evaluate": dict(package.evaluate(frame, release, chosen)),
        "files": dict(
            package.evaluate(
                frame.drop(columns="name"), copies, settings("foreign") | {"variables": _without_name("foreign")}
            )
        ),
        "pooled": pooled,
        "fit": _pooled(package.pool(copies, slope, names=["income"])),
        "pairs": _pooled(package.pool([(1.0, 0.01), (1.1, 0.01), (1.2, 0.02)], names=["effect"])),
        "statistic": _pooled(
            package.pool(
                copies, statistic=lambda one: np.array([one["age"].median()]), bootstrap=20, seed=7, names=["median"]
            )
        ),
        "names": sorted(package.__all__),
    }


def _without_name(config: str) -> dict[str, Any]:
    return {name: value for name, value in settings(config)["variables"].items() if name != "name"}


def _pooled(pooled: Any) -> dict[str, Any]:
    return {"table": table(pooled.table().reset_index()), "said": str(pooled)}


def _foreign() -> dict[str, Any]:
    return {
        "aligned": evaluate("foreign", "--synthetic", *OTHERS, out="aligned"),
        "orders": evaluate("foreign", "--synthetic", *SHUFFLED, "--set", "evaluation.rows=orders.csv", out="orders"),
        "none": evaluate("foreign", "--synthetic", *SHUFFLED, "--set", "evaluation.rows=none", out="none"),
        "one": evaluate("foreign", "--synthetic", OTHERS[0], out="one"),
    }


def _own() -> dict[str, Any]:
    """Return a release judged as a stranger would, and the same with the row orders."""
    made = run("k_noise")
    rows = "evaluation.rows=out_k_noise/confidential/rows.parquet"
    return {
        "run": made,
        "folder": evaluate("k_noise", "--synthetic", "out_k_noise/public", out="folder"),
        "ordered": evaluate("k_noise", "--synthetic", "out_k_noise/public", "--set", rows, out="ordered"),
    }


def _analyses() -> dict[str, Any]:
    return {"evaluate": evaluate("analyses", "--synthetic", *OTHERS, out="judged")}


def _compared() -> dict[str, Any]:
    """Return methods and another tool's files on one map, what they took aside."""
    said = synthdp("compare", "compared.yaml", "--seeds", "2", "--files", "other=other_?.csv", "--out", "map")
    found = pd.read_csv("map/comparison.csv").drop(columns=["seconds", "memory"])
    return {"said": said, "table": table(found)}


def _tuned() -> dict[str, Any]:
    """Return a short search, and what becomes of settings that promise something."""
    said = synthdp("tune", "tuned.yaml", "--budget", "2", "--out", "search")
    trials = pd.read_csv("search/trials.csv").drop(columns=["seconds"])
    settings_found = plain(Path("search/tuned.yaml").read_text())
    return {"said": said, "trials": table(trials), "settings": settings_found, "promised": run("promised")}


def _explored() -> dict[str, Any]:
    """Return the page of privacy regions: which masks of a config it offers, and why not the others."""
    said = synthdp("explore", "risks.yaml", "--export", "regions.html")
    told = Path("regions.html").read_text().partition('id="context">')[2].partition("</script>")[0]
    again = synthdp("explore", "--export", "regions.html")
    return {"said": said, "masks": json.loads(told), "again": again, "absent": synthdp("explore", "absent.csv")}


def _register() -> dict[str, Any]:
    """Return three releases of the same data, recorded together, and what a copy of the config says of the first."""
    where = ("--set", "release.recorded_in=book")
    found = {"first": run("k_noise", *where, out="first")}
    found["second"] = run("k_noise", *where, "--set", "synthesis.k=4", "--seed", str(2**80 + 3), out="second")
    found["third"] = run("pram", *where, out="third")
    return found


def _refused() -> dict[str, Any]:
    found: dict[str, Any] = {"check": synthdp("check", "refused.yaml"), "run": run("refused")}
    reasons = [check["name"] for check in found["run"]["metrics"]["gate"]["checks"] if check["passed"] is False]
    names = dict.fromkeys([*reasons, "undecided: educ", "undecided: kids"])
    accepted = [part for name in names for part in ("--accept-risk", f"{name}: agreed in writing")]
    found["accepted"] = run("refused", "--resume", *accepted)
    return found


def _reading() -> dict[str, Any]:
    import synthdp as package

    people = survey.survey(60).drop(columns=["name"])
    texts = people.assign(seen=people["seen"].dt.strftime("%Y-%m-%d"), smoke=people["smoke"].fillna(""))
    numbers = people[["age", "income", "kids", "score", "died", "w"]].assign(sex=(people["sex"] == "M") + 1.0)
    numbers.loc[3, "score"] = 99.0
    labels = {"sex": {1.0: "female", 2.0: "male"}}
    words = {"age": "Age in years", "sex": "Sex of the person"}
    texts.to_csv("t.csv", index=False)
    texts.to_csv("t.csv.gz", index=False)
    texts.to_csv("t.tsv", sep="\t", index=False)
    texts.to_csv("t.tsv.gz", sep="\t", index=False)
    people.to_parquet("t.parquet", index=False)
    people.to_feather("t.feather")
    pyreadstat.write_dta(numbers, "t.dta", variable_value_labels=labels, column_labels=words)
    pyreadstat.write_sav(
        numbers, "t.sav", variable_value_labels=labels, column_labels=words, missing_ranges={"score": [99.0]}
    )
    pyreadstat.write_sav(numbers, "t.zsav", variable_value_labels=labels, compress=True)
    pyreadstat.write_por(numbers.rename(columns=str.upper), "t.por")
    pyreadstat.write_xport(numbers, "t.xpt", table_name="T")
    names = ("csv", "csv.gz", "tsv", "tsv.gz", "parquet", "feather", "dta", "sav", "zsav", "por", "xpt")
    found: dict[str, Any] = {name: digest(package.read(Path(f"t.{name}"))) for name in names}
    base = yaml.safe_load(Path("k_noise.yaml").read_text())
    roles = {name: {"role": "keep", "key": False} for name in ("income", "kids", "score", "died", "w")}
    sex = {"kind": "binary", "role": "replace", "key": True}
    base["variables"] = roles | {"age": {"kind": "continuous", "role": "replace", "key": True}, "sex": sex}
    del base["analyses"]
    base["release"]["format"] = "same"
    for name in ("dta", "sav", "xpt", "parquet", "feather", "tsv"):
        extra: dict[str, Any] = {}
        if name in ("parquet", "feather", "tsv"):
            numbers.to_parquet("t.parquet", index=False)
            numbers.to_feather("t.feather")
            numbers.to_csv("t.tsv", sep="\t", index=False)
        base["data"] = {"path": f"t.{name}", **extra}
        Path("same.yaml").write_text(yaml.safe_dump(base))
        found[f"same {name}"] = {"said": synthdp("run", "same.yaml", "--out", f"same_{name}")}
        found[f"same {name}"]["public"] = public(Path(f"same_{name}/public"))
    return found


def _guessing() -> dict[str, Any]:
    found: dict[str, Any] = {}
    data = Path(__file__).parents[2] / "data"
    shutil.copy(data / "registry_small.csv", "registry_small.csv")
    wanted = [("survey.csv", method) for method in ("regression", "copula", "cart")]
    wanted += [("survey.txt", "regression"), ("survey.parquet", "cart"), ("registry_small.csv", "regression")]
    for name, method in wanted:
        to = f"{Path(name).stem}_{Path(name).suffix[1:]}_{method}.yaml"
        said = synthdp("init", name, "-o", to, "--method", method)
        found[to] = {"said": said, "text": Path(to).read_text(), "check": synthdp("check", to)}
    for config in ("regression_mixed", "sequential_cart", "dp_mst", "analyses", "k_pram"):
        found[f"check {config}"] = synthdp("check", f"{config}.yaml")
    for rule in FUNCTIONS:
        change = json.dumps({"rules": {"high": rule}})
        found[rule] = synthdp("check", "sequential_cart.yaml", "--set", f"groups={change}")
    return found


def _face() -> dict[str, Any]:
    """Return the JSON Schema and every command's help."""
    found: dict[str, Any] = {"schema": json.loads(synthdp("schema", timed=False)["out"])}
    found["options"] = inside.commands()
    for command in ("", *inside.commands()):
        found[f"help {command}"] = synthdp(*command.split(), "--help", timed=False)
    found["version"] = synthdp("--version")
    found["explore"] = synthdp("explore", "nothing.yaml", "--no-browser")
    return found


def _statistics() -> dict[str, Any]:
    """Return every DP statistic with the simulated source, and the ledger that the commands keep."""
    from synthdp import dp

    people = _frame()
    age, income, kids = people["age"], people["income"], people["kids"]
    two = {"bounds": [(18, 90), (0, 20)], "epsilon": 3.0}
    x = np.column_stack([age, kids]).astype(float)
    y = income.to_numpy(float)
    ready = dp.declared([(18, 90), (0, 20)], (0, 20_000), intercept=True)
    found: dict[str, Any] = {}
    for number, (adjacency, delta) in enumerate((("replace", 0.0), ("add_remove", 0.0), ("replace", 1e-6))):

        def noise(number: int = number) -> dict[str, Any]:
            return {"source": inside.simulated(100 + number)}

        both: dict[str, Any] = {"adjacency": adjacency}
        gaussian = {**both, "delta": delta}
        made = {
            "mean": dp.mean(age, bounds=(18, 90), epsilon=1.0, **gaussian, **noise()),
            "mean sd": dp.mean(age, bounds=(18, 90), epsilon=1.0, sd=20.0, **gaussian, **noise()),
            "mean data": dp.mean(age, bounds="data", epsilon=1.0, **gaussian, **noise()),
            "sum": dp.sum(kids, bounds=(0, 20), epsilon=1.0, **gaussian, **noise()),
            "variance": dp.variance(age, bounds=(18, 90), epsilon=2.0, **gaussian, **noise()),
            "cov": dp.cov([age, kids], **two, **gaussian, **noise()),
            "ols": dp.ols(
                income, [age, kids], bounds_y=(0, 9000), bounds_x=two["bounds"], epsilon=9.0, **gaussian, **noise()
            ),
            "count": dp.count(people["sex"], epsilon=1.0, equals="F", **both, **noise()),
            "count all": dp.count(people["score"], epsilon=1.0, **both, **noise()),
            "median": dp.median(age, bounds=(18, 90), epsilon=1.0, **both, **noise()),
            "quantile": dp.quantile(age, 0.9, bounds=(18, 90), epsilon=1.0, **both, **noise()),
            "histogram": dp.histogram(age, edges=[18, 40, 60, 90], epsilon=1.0, **both, **noise()),
            "histogram levels": dp.histogram(people["sex"], levels=["F", "M"], epsilon=1.0, **both, **noise()),
        }
        found[f"{adjacency}, δ {delta:g}"] = {
            name: {"table": table(one.table().reset_index()), "said": repr(one), "confidential": one.confidential}
            for name, one in made.items()
        }
        if adjacency == "replace":
            curve = dp.density(age, bounds=(18, 90), grid=12, epsilon=1.0, **gaussian, **noise())
            found[f"density {delta:g}"] = _plain(curve)
        found[f"kmeans {adjacency} {delta:g}"] = _plain(dp.kmeans([age, kids], 2, **two, **both, **noise()))
        bought = dp.paid_bounds([age.to_numpy(float)], within=[(0, 200)], epsilon=1.0, **both, **noise())
        found[f"paid_bounds {adjacency} {delta:g}"] = bought
    preparations = {"declared": ready}
    for strategy in ("max_norm", "row_norm", "row_norm_y"):
        preparations[strategy] = dp.prepare(x, y, strategy=strategy, clip=3.0, tails="both")
    found["preparations"] = {name: _plain(one) for name, one in preparations.items()}
    unit = x / (2 * np.linalg.norm(x, axis=1).max())
    for calibration in ("original", "fixed", "analytic", "joint"):
        for name, fit in (("ssp", dp.ssp), ("adassp", dp.adassp)):
            paid = {"x_norm": 1.0, "y_bound": 1.0, "epsilon": 1.0, "delta": 1e-5, "calibration": calibration}
            made = fit(unit, y / 20_000, **paid, source=inside.simulated(7))
            found[f"{name} {calibration}"] = _plain(made)
    paid = {"epsilon": 1.0, "source": inside.simulated(7)}
    columns = {"bounds": [(0, 20_000), (18, 90)], **paid}
    for law in ("laplace", "gaussian", "heavy_tail"):
        delta = 0.0 if law == "heavy_tail" else 1e-6
        found[f"smooth_median {law}"] = _plain(dp.smooth_median(age, bounds=(18, 90), noise=law, delta=delta, **paid))
    for way in (False, True):
        asked = {"blocks": 10, "bounds": (18, 90), "interval": way, **paid}
        found[f"aggregate {way}"] = _plain(dp.aggregate(age, np.median, **asked))
    found["sgd"] = _plain(dp.sgd("ridge", [y, age], steps=20, delta=1e-5, **columns))
    found["gradient_descent"] = _plain(dp.gradient_descent("ridge", [y, age], steps=20, **columns))
    points = np.linspace(0, 1, 6)
    gram = np.exp(-((points[:, None] - points) ** 2) / 0.18)
    paid = {"epsilon": 1.0, "delta": 1e-6, "source": inside.simulated(7)}
    found["release_function"] = _plain(dp.release_function(np.sin(points), gram, sensitivity=0.01, **paid))
    bounds = {"bounds": [(18, 90)], "bandwidth": 20.0, "regularisation": 0.05}
    found["svm"] = _plain(dp.svm(age, kids > 1, **bounds, **paid))
    found["variance_of_noisy"] = repr(dp.variance_of_noisy(age, scale=2.0))
    return found


def _plain(value: Any) -> dict[str, Any]:
    """Return the plain fields of a frozen result, and how it shows itself."""
    kept = (bool, int, float, str, tuple, list, np.ndarray, type(None))
    return {"said": repr(value), **{k: simple(v) for k, v in vars(value).items() if isinstance(v, kept)}}


def _ledger() -> dict[str, Any]:
    """Return what the ``dp`` commands say apart from their numbers, whose noise is secure and cannot be repeated."""
    found: dict[str, Any] = {}
    age = ("--column", "age", "--bounds", "18,90")
    kids = ("--column", "kids", "--bounds", "0,20")
    book = ("--ledger", "book.ledger")
    asked = {
        "mean": (*age, "--epsilon", "0.5", *book, "--cap", "12", "--cap-delta", "1e-5"),
        "sum": (*age, "--epsilon", "0.5", *book),
        "variance": (*age, "--epsilon", "0.5", *book),
        "count": ("--column", "sex", "--epsilon", "0.5", *book, "--equals", "F"),
        "median": (*age, "--epsilon", "0.5", *book),
        "quantile": (*age, "--epsilon", "0.5", "--probability", "0.9", *book),
        "histogram": ("--column", "sex", "--levels", "F,M", "--epsilon", "0.5", *book),
        "cov": (*age, "--column", "kids", "--bounds", "0,20", "--epsilon", "0.5", *book),
        "ols": (*age, "--column", "kids", "--bounds", "0,20", "--epsilon", "0.5", *book),
        "adassp": (*age, *kids, "--epsilon", "0.5", "--delta", "1e-6", *book),
        "kmeans": (*age, *kids, "--clusters", "2", "--epsilon", "0.5", *book),
        "density": (*age, "--epsilon", "0.5", "--cells", "10", *book),
    }
    for name, options in asked.items():
        said = synthdp("dp", name, "survey.csv", *options, "--out", f"{name}.json")
        written = json.loads(Path(f"{name}.json").read_text())
        terms = [sorted(term) for term in written.pop("terms")]
        written.pop("notes")
        found[name] = {"exit": said["exit"], "written": written, "terms": terms}
    series = ("--column", "age", "--column", "kids", "--bounds", "0,100", "--epsilon", "0.5", "--delta", "1e-6")
    found["leakage"] = synthdp("dp", "leakage", "survey.csv", *series, "--releases", "6", "--out", "leakage.json")
    found["leakage"]["written"] = json.loads(Path("leakage.json").read_text())
    found["ledger"] = synthdp("dp", "ledger", "survey.csv", *book)
    found["too much"] = synthdp("dp", "mean", "survey.csv", *age, "--epsilon", "50", *book)
    return found


def _verified() -> dict[str, Any]:
    """Return what a data user's question is answered by, apart from the counts, whose noise is secure."""
    asked = {
        "model": "logit",
        "formula": "np.where(sex == 'F', 1, 0) ~ age",
        "epsilon": 1.0,
        "blocks": 5,
        "questions": [{"ask": "sign", "term": "age", "sign": "positive"}],
    }
    Path("request.json").write_text(json.dumps(asked))
    common = ("request.json", "--config", "dp_mst.yaml", "--ledger", "verified.ledger")
    found = {"checked": synthdp("verify-analysis", *common, "--cap", "2", "--check")}
    said = synthdp("verify-analysis", *common, "--out", "answered")
    answer = json.loads(Path("answered/public/answer.json").read_text())
    answer.pop("answers")
    found["answered"] = {"exit": said["exit"], "answer": answer}
    found["again"] = synthdp("verify-analysis", *common, "--out", "again", "--quiet")
    found["too much"] = synthdp("verify-analysis", *common, "--out", "beyond")
    return found


def _broken() -> dict[str, Any]:
    """Return the sentences that a user reads who made a mistake."""
    wrong = {
        "unknown key": ("--set", "synthesis.copys=3"),
        "unknown model": ("--set", "synthesis.model.method=tree"),
        "unknown column": ("--set", "variables.agee.role=replace"),
        "bounds": ("--set", "variables.age.bounds=[90, 18]"),
        "levels": ("--set", "variables.sex.levels=[F, X]"),
        "formula": ("--set", 'analyses=[{name: a, model: ols, formula: "score ~ agee"}]'),
        "rule": ("--set", 'analyses=[{name: a, model: ols, formula: "score ~ age", rule: reiter2033}]'),
        "mask": ("--set", "masks.region.method=gaussian"),
        "group": ("--set", "masks_by_group={none: {age: {method: gaussian, sd: 1}}}"),
        "format": ("--set", "release.format=xls"),
        "data": ("--set", "data.path=absent.csv"),
        "expression": ("--set", 'constraints=["age <<< 3"]'),
        "draws": ("--set", "release.draws=3"),
    }
    found = {name: synthdp("check", "copula.yaml", *change) for name, change in wrong.items()}
    found["small seed"] = synthdp("run", "copula.yaml", "--seed", "1", "--out", "small")
    found["simulated"] = synthdp("run", "dp_mst.yaml", "--out", "simulated")
    found["resume"] = synthdp("run", "copula.yaml", "--resume")
    found["verify"] = synthdp("verify", "absent")
    found["analyse"] = synthdp("analyse", "absent", "--model", "ols", "--formula", "y ~ x")
    found["evaluate"] = synthdp("evaluate", "foreign.yaml", "--synthetic", "absent.csv", "--out", "judged")
    found["no command"] = synthdp("runn", "copula.yaml")
    Path("other_1.csv").write_text(Path("other_1.csv").read_text().replace("north", "nord"))
    found["foreign level"] = synthdp("evaluate", "foreign.yaml", "--synthetic", "other_1.csv", "--out", "judged")
    Path("k_noise.yaml").write_text(Path("k_noise.yaml").read_text())
    run("k_noise")
    found["not empty"] = synthdp("run", "k_noise.yaml", "--out", "out_k_noise")
    Path("out_k_noise/public/synthetic_01.csv").write_text("changed\n")
    found["changed"] = synthdp("verify", "out_k_noise")
    found["new key"] = synthdp("sign", "--new-key", "agency.pem")
    found["signed"] = synthdp("sign", "out_k_noise", "--key", "agency.pem")
    return found


def _signed() -> dict[str, Any]:
    found: dict[str, Any] = {"run": run("pram"), "key": synthdp("sign", "--new-key", "agency.pem")}
    found["sign"] = synthdp("sign", "out_pram", "--key", "agency.pem")
    found["exit"] = synthdp("verify", "out_pram", "--key", "agency.pub.pem")["exit"]
    return found


def _demo() -> dict[str, Any]:
    from observing import results

    said = synthdp("demo", "--quick", "--out", "tour")
    found = {"said": said, **results(Path("tour"))}
    found["files"] = {name: plain(Path(f"tour/{name}").read_text()) for name in ("demo.yaml",)}
    found["analyse"] = synthdp("analyse", "tour", "--model", "logit", "--formula", "vote ~ age + PID")
    return found


CASES: dict[str, Case] = {
    "regression_mixed": Case(
        _released(
            "regression_mixed",
            ("--model", "logit", "--formula", "employed ~ age + C(region)"),
            ("--model", "ols", "--formula", "income ~ age", "--weights", "w", "--strata", "stratum"),
            ("--model", "mean", "--formula", "age, income", "--rule", "reiter2003", "--level", "0.9"),
            ("--model", "quantile", "--formula", "income", "--probabilities", "0.1,0.9", "--out", "q.csv"),
            ("--model", "cox", "--formula", "time ~ age", "--status", "died"),
            ("--model", "poisson", "--formula", "kids ~ age", "--link", "log", "--cluster", "household"),
        ),
        ("regression_mixed",),
        slow=True,
    ),
    "regression_exact": Case(_released("regression_exact"), ("regression_exact",)),
    "auto": Case(_ran("auto"), ("auto",)),
    "cart_masked": Case(_released("cart_masked"), ("cart_masked",), slow=True),
    "copula": Case(_released("copula", ("--model", "ols", "--formula", "score ~ age")), ("copula",)),
    "copula_rank": Case(_released("copula_rank"), ("copula_rank",)),
    "nested": Case(
        _released("nested", ("--model", "ols", "--formula", "score ~ age"), ("--model", "mean", "--formula", "age")),
        ("nested", "nested_cart"),
    ),
    "nested_cart": Case(_released("nested_cart"), ("nested_cart",)),
    "sequential_cart": Case(_released("sequential_cart"), ("sequential_cart",)),
    "sequential_dealt": Case(_released("sequential_dealt"), ("sequential_dealt",)),
    "sequential_regression": Case(
        _ran("sequential_regression", "sequential_probit"), ("sequential_regression", "sequential_probit")
    ),
    "loglinear": Case(_ran(*TABLES), TABLES),
    "maskings": Case(_ran(*MASKINGS), MASKINGS),
    "sdc": Case(_ran(*SDC), SDC),
    "private": Case(_private, DP, slow=True),
    "private_aware": Case(_ran(*AWARE, options=("--study",)), AWARE),
    "verified": Case(_verified, ("dp_mst",)),
    "private_curves": Case(_ran(*CURVES, options=("--study",)), CURVES),
    "pymc_nuts": Case(_ran("pymc_nuts"), ("pymc_nuts",), slow=True),
    "risks": Case(_ran("risks"), ("risks",), slow=True),
    "shadow_all": Case(_ran("shadow_all"), ("shadow_all",)),
    "refused": Case(_refused, ("refused",), slow=True),
    "compared": Case(_compared, ("compared",)),
    "tuned": Case(_tuned, ("tuned", "promised"), slow=True),
    "explored": Case(_explored),
    "register": Case(_register),
    "foreign": Case(_foreign, ("foreign",), slow=True),
    "own_files": Case(_own),
    "analyses": Case(_analyses, ("analyses",)),
    "python": Case(_python),
    "reading": Case(_reading),
    "guessing": Case(_guessing),
    "face": Case(_face),
    "dp_statistics": Case(_statistics),
    "ledger": Case(_ledger),
    "broken": Case(_broken),
    "signed": Case(_signed),
    "demo": Case(_demo, slow=True),
}
