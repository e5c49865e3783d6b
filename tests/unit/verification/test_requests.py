"""A request is data: it reaches no file, runs no code, and is judged by the declared schema alone."""

import json
import os

import pytest

from synthdp.errors import InputError
from synthdp.table.schema import Variable
from synthdp.verification.imagined import check
from synthdp.verification.request import MOST_BYTES, parse_request, read_request

SCHEMA = {
    "income": Variable(kind="continuous", bounds=(0, 5000), decimals=2),
    "age": Variable(kind="count", bounds=(18, 90)),
    "sex": Variable(levels=("F", "M")),
    "smoker": Variable(kind="binary", levels=(0, 1)),
    "home town": Variable(kind="nominal", levels=("north", "south")),
    "name": Variable(role="drop"),
    "height": Variable(kind="continuous"),
    "region": Variable(kind="nominal"),
    "born": Variable(kind="date", bounds=(0, 100)),
    "old": Variable(derived="age > 60", kind="binary", levels=(False, True)),
    "job": Variable(kind="nominal", levels=("a", "b"), rare=5),
}


def asked(formula="income ~ age + C(sex)", term="age", **more):
    question = {"ask": "sign", "term": term, "sign": "positive"}
    return {"model": "ols", "formula": formula, "epsilon": 0.5, "questions": [question], **more}


def refused(given):
    with pytest.raises(InputError) as caught:
        check(parse_request(given), SCHEMA)
    return str(caught.value)


@pytest.mark.parametrize(
    ("formula", "term", "terms"),
    [
        ("income ~ age + C(sex)", "C(sex)[T.M]", ("Intercept", "C(sex)[T.M]", "age")),
        ('income ~ Q("home town") * age', "age", None),
        ("np.log1p(income) ~ np.where(age > 60, 1, 0) + I(age**2)", "I(age ** 2)", None),
        ("income ~ age + C(sex, Sum)", "C(sex, Sum)[S.F]", None),
        ("income ~ smoker:age", "smoker:age", ("Intercept", "smoker:age")),
    ],
)
def test_what_may_be_asked(formula, term, terms):
    found = check(parse_request(asked(formula, term)), SCHEMA)
    assert term in found
    assert terms is None or set(found) == set(terms)


def test_other_models():
    assert check(parse_request(asked("income, age", model="mean")), SCHEMA) == ("income", "age")
    check(parse_request(asked("sex ~ age", model="logit")), SCHEMA)
    check(parse_request(asked("smoker ~ age", model="probit")), SCHEMA)


DEEP = 300
ATTACKS = [
    # code
    "__import__('os').system('true') ~ age",
    "income ~ __import__('os')",
    "income ~ age.__class__",
    "income ~ ().__class__.__bases__[0].__subclasses__()",
    "income ~ (lambda: 1)()",
    "income ~ (age := 1)",
    "income ~ [x for x in (1, 2)]",
    "income ~ {x: 1 for x in (1, 2)}",
    "income ~ f'{age}'",
    "income ~ age if age else __builtins__",
    "income ~ eval('1')",
    "income ~ exec('1')",
    "income ~ compile('1', 'x', 'eval')",
    "income ~ getattr(age, 'values')",
    "income ~ globals()",
    "income ~ vars()",
    "income ~ print(age)",
    "income ~ breakpoint()",
    "income ~ age.values",
    "income ~ age.to_csv('stolen.csv')",
    "income ~ age[0]",
    "income ~ age[:, None]",
    "income ~ await age",
    "income ~ (yield age)",
    "income ~ *age",
    "import os",
    "income ~ age; import os",
    "income ~ age\nimport os",
    # files
    "income ~ open('/etc/passwd')",
    "income ~ np.load('x.npy')",
    "income ~ np.fromfile('/etc/passwd')",
    "income ~ np.loadtxt('/etc/passwd')",
    "income ~ np.genfromtxt('/etc/passwd')",
    "income ~ np.memmap('/etc/passwd')",
    "income ~ np.save('x', age)",
    "income ~ np.lib.npyio.NpzFile('x')",
    "income ~ np.ctypeslib.load_library('x', '.')",
    "income ~ np.random.seed(1)",
    "income ~ np.f2py.compile('x')",
    "income ~ np.vectorize(open)('/etc/passwd')",
    # ways around the names
    "income ~ Q('name')",
    "income ~ Q(name)",
    "income ~ Q('na' + 'me')",
    "income ~ Q('age' if age else 'name')",
    "income ~ Q('age', 'name')",
    "income ~ Q(name='age')",
    "income ~ Q(Q('name'))",
    "income ~ Q('np').load('x')",
    "income ~ Q('__builtins__')",
    "income ~ Q('')",
    "income ~ name",
    "income ~ ｎame",
    "income ~ аge",
    "income ~ ａge",
    "income ~ ag\u200be",
    "income ~ \u202eega",
    "income ~ ｏｐｅｎ('x')",
    "income ~ open",
    "income ~ C(Q('name'))",
    "income ~ C(age, levels=__import__('os').listdir())",
    # columns that are not declared, and those that are something else
    "income ~ height",
    "income ~ region",
    "income ~ born",
    "income ~ old",
    "income ~ job",
    "income ~ nobody",
    "income ~ stateful_transform(age)",
    "income ~ center(age)",
    "income ~ standardize(age)",
    "income ~ bs(age, df=5)",
    "income ~ cr(age, df=5)",
    "income ~ np.mean(age)",
    "income ~ np.max(age)",
    "income ~ np.quantile(age, 0.5)",
    "income ~ C(age)",
    # bombs
    "income ~ I(age**9**9**9)",
    "income ~ I(age**9999)",
    "income ~ [0]*10**10",
    "income ~ 'a'*10**10",
    "income ~ " + "-" * 1500 + "age",
    "income ~ I(" + "-" * 1500 + "age)",
    "income ~ " + "log(" * DEEP + "age" + ")" * DEEP,
    "income ~ " + "age + " * 1000 + "age",
    "income ~ I(age << 99999999)",
    "income ~ I(1e308 * 1e308 * age)",
    "income ~ np.log(smoker)",
    # no formula at all
    "",
    "~",
    "income",
    "income ~",
    "income + age ~ sex",
    "income ~ age ~ sex",
    "income ~ 0",
    "income ~ age + I(2 * age)",
]


@pytest.mark.parametrize("formula", ATTACKS)
def test_a_formula_cannot_reach_anything(formula, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sentence = refused(asked(formula))
    assert sentence.startswith("request")
    assert not list(tmp_path.iterdir())
    assert "Traceback" not in sentence
    assert len(sentence) < 1500


@pytest.mark.parametrize(
    "formula", ["income ~ age**9**9**9", "income ~ (age + smoker)**99999999", f"income ~ {'(' * DEEP}age{')' * DEEP}"]
)
def test_powers_of_terms_and_brackets_are_no_bombs(formula):
    assert len(check(parse_request(asked(formula)), SCHEMA)) <= 4


FIELDS = [
    {"data": "/etc/passwd"},
    {"ledger": "mine"},
    {"path": "../../secret.csv"},
    {"out": "/tmp"},
    {"code": "import os"},
    {"seed": 1},
    {"weights": "w"},
    {"delta": 0.5},
    {"epsilon": 0},
    {"epsilon": -1},
    {"epsilon": 1e9},
    {"epsilon": "1"},
    {"epsilon": True},
    {"epsilon": float("nan")},
    {"epsilon": float("inf")},
    {"blocks": 1},
    {"blocks": 10**9},
    {"blocks": 25.5},
    {"model": "os.system"},
    {"model": "cox"},
    {"model": None},
    {"version": 2},
    {"formula": ["income ~ age"]},
    {"formula": {"$ref": "file:///etc/passwd"}},
    {"formula": "income ~ age" + " " * 5000},
    {"questions": []},
    {"questions": {}},
    {"questions": [{"ask": "sign", "term": "age", "sign": "positive"}] * 11},
    {"questions": [{"ask": "exec", "term": "age"}]},
    {"questions": [{"ask": "sign", "term": "age", "sign": "maybe"}]},
    {"questions": [{"ask": "sign", "term": "name", "sign": "positive"}]},
    {"questions": [{"ask": "sign", "term": "x" * 999, "sign": "positive"}]},
    {"questions": [{"ask": "within", "term": "age", "estimate": 1.0, "margin": 0}]},
    {"questions": [{"ask": "within", "term": "age", "estimate": "1", "margin": 1.0}]},
    {"questions": [{"ask": "within", "term": "age", "estimate": 1.0, "margin": 1.0, "code": "x"}]},
    {"questions": [{"ask": "overlap", "term": "age", "low": 2.0, "high": 1.0}]},
    {"questions": [{"ask": "overlap", "term": "age", "low": 1.0, "high": 2.0, "above": 1.0}]},
    {"questions": [["age"]]},
]


@pytest.mark.parametrize("more", FIELDS, ids=lambda more: str(more)[:40])
def test_other_fields_and_values_are_refused(more):
    assert refused(asked(**more)).startswith("request")


FILES = [
    b"",
    b"null",
    b"[]",
    b'"income ~ age"',
    b"{",
    b"[" * 60_000,
    b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    b"\xff\xfe",
    b'{"epsilon": NaN}',
    b'{"epsilon": Infinity}',
    b'{"epsilon": ' + b"9" * 5000 + b"}",
    b'{"model": "ols", "model": "mean"}',
    b'{"model": "ols"}\n{"model": "ols"}',
    b" " * (MOST_BYTES + 1),
    b"!!python/object/apply:os.system ['true']",
    b"__import__('os')",
]


@pytest.mark.parametrize("content", FILES, ids=lambda content: str(content[:20]))
def test_files_that_are_no_requests(content, tmp_path):
    path = tmp_path / "request.json"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_request(path)
    assert len(str(caught.value)) < 1500


def test_a_request_is_a_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "absent", tmp_path / "pipe", tmp_path / "a\0b"):
        with pytest.raises(InputError, match="cannot be read; give a JSON file"):
            read_request(path)
    (tmp_path / "r.json").write_text(json.dumps(asked()))
    request = read_request(tmp_path / "r.json")
    assert parse_request(json.loads(request.text())) == request
    with pytest.raises(InputError, match="must be a JSON object"):
        parse_request([])


def test_a_dropped_column_is_as_unknown_as_one_that_never_was():
    known, unknown = (refused(asked(f"income ~ {name}")) for name in ("name", "nobody"))
    assert known.replace("'name'", "'nobody'") == unknown


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            asked("income ~ height"),
            "request: formula: the config declares no levels or bounds of 'height'; leave it out.",
        ),
        (asked("income ~ old"), "request: formula: 'old' is derived from other columns; write its formula instead."),
        (asked("income ~ born"), "request: formula: 'born' is of a kind that is not answered; leave it out."),
        (asked("income ~ np.mean(age)"), "request: formula: 'np.mean' does not go record by record; leave it out."),
        (asked("income ~ center(age)"), "request: formula: 'center' learns from the records; leave it out."),
        (asked("income ~ Q(age)"), 'request: formula: Q takes the name of one column, such as Q("my column").'),
        (asked(term="C(sex)[T.X]"), "request: no term named 'C(sex)[T.X]'; there are Intercept, C(sex)[T.M], age."),
        (asked("sex", model="mean", term="sex"), "request: formula: a mean needs numbers, found text in 'sex'."),
        (asked(blocks=2), "request.blocks: input should be greater than or equal to 5."),
        (asked(who="me"), "request: no such field: 'who'."),
    ],
)
def test_what_is_wrong_is_said(given, sentence):
    assert refused(given) == sentence
