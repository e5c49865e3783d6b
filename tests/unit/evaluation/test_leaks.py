"""The scanner finds every planted leak, says nothing about clean releases, and never shows a value."""

import base64
import gzip
import json
import shutil
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from synthdp import pipeline, release
from synthdp.cli.starting import settings
from synthdp.config import load, parse
from synthdp.datasets import anes96
from synthdp.errors import GateRefused
from synthdp.evaluation.gate.limits import OFF
from synthdp.evaluation.leaks import Kind, Leak, inspector, records, scan
from synthdp.evaluation.leaks.finding import (
    chance_limit,
    correlation_limit,
    poisson_limit,
    rank_correlation,
    ties_explain,
)
from synthdp.evaluation.leaks.pairing import Original, beside
from synthdp.evaluation.leaks.scan import copied
from synthdp.stages.intake import Source, prepare
from synthdp.table import io
from synthdp.table.microdata import resolve
from synthdp.table.schema import Column, Schema, Variable

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "data" / "registry_small.yaml"
SEED = 0xC0FFEE_5EED_0000_0000_1234_9876
OPEN = (
    f"release={json.dumps(OFF.model_dump())}",
    "evaluation={utility: [], risk: [identity]}",
    "analyses=[]",
)
CLEAN = {
    "registry": ("synthesis.copies=3",),
    "registry, second seed": ("synthesis.copies=3", f"seed={SEED + 1}"),
    "registry, third seed": ("synthesis.copies=3", f"seed={SEED + 2}"),
    "parquet": ("synthesis.copies=2", "release.format=parquet"),
    "SPSS": ("synthesis.copies=2", "release.format=sav"),
    "Stata": ("synthesis.copies=2", "release.format=dta"),
    "one mask for all copies": ("synthesis.copies=3", "synthesis.mask_draw=once"),
    "weaker mask": ("synthesis.copies=3", "masks.age={method: gaussian, sd: 0.3}"),
    "joint draw without a mask": ("synthesis={method: mi, copies: 3}",),
    "trees": ("synthesis={method: sequential, model: {method: cart}, copies: 3}",),
    "regressions in sequence": ("synthesis={method: sequential, model: {method: regression}, copies: 3}",),
    "more columns replaced": (
        "synthesis.copies=2",
        "variables.fvc={role: replace}",
        "masks.fvc={method: gaussian, sd: 1.0}",
        "synthesis.model={method: regression}",
    ),
}


def make(out, *overrides):
    config = load(EXAMPLE, [f"seed={SEED}", *OPEN, *overrides])
    pipeline.run(config, out=out)
    return Source.of(config).data


def found_in(out, data, **more):
    manifest = json.loads((out / "confidential" / "manifest.json").read_text())
    more = {"manifest": manifest, "rng": np.random.default_rng(5)} | more
    return scan(out / "public", data.frame, data.schema, **more)


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    """Return a clean release and its original."""
    out = tmp_path_factory.mktemp("clean") / "out"
    return out, make(out, "synthesis.copies=3")


@pytest.fixture
def planted(clean, tmp_path):
    """Return a copy of the clean release to plant a leak in."""
    shutil.copytree(clean[0], tmp_path / "out")
    return tmp_path / "out", clean[1]


# clean releases


@pytest.mark.parametrize("name", CLEAN)
def test_a_clean_release_is_not_flagged(name, tmp_path):
    data = make(tmp_path / "out", *CLEAN[name])
    assert found_in(tmp_path / "out", data) == ()


def test_the_demo_is_not_flagged(tmp_path):
    config = settings(quick=True).model_copy(update={"analyses": ()})
    config = config.model_copy(update={"evaluation": config.evaluation.model_copy(update={"utility": ()})})
    data = prepare(anes96(), config)
    pipeline.run(config, out=tmp_path / "out", source=Source(data, ""))
    assert found_in(tmp_path / "out", data) == ()


def formulas(n=200):
    """Return people whose answers a spreadsheet would take for formulas."""
    rng = np.random.default_rng(7)
    return pd.DataFrame(
        {
            "region": rng.choice(["+north", "south"], n),
            "answer": rng.choice(["=1", "-2", "@3", "4"], n),
            "age": np.round(rng.normal(45, 12, n), 1),
        }
    )


def test_escaped_levels_are_those_of_the_copies(tmp_path):
    formulas().to_csv(tmp_path / "people.csv", index=False)
    raw = {
        "data": {"path": tmp_path / "people.csv"},
        "variables": {"age": {"role": "replace", "key": True}, "answer": {"role": "replace"}},
        "masks": {"age": {"method": "gaussian", "sd": 1.0}},
        "synthesis": {"copies": 2},
        "release": OFF.model_dump() | {"escape_formulas": True},
        "evaluation": {"utility": [], "risk": []},
        "seed": SEED,
    }
    assert pipeline.run(parse(raw), out=tmp_path / "out").public is not None
    assert "'+north" in (tmp_path / "out" / "public" / "synthetic_01.csv").read_text()


def test_escaped_text_that_is_verbatim_is_found(tmp_path):
    frame = formulas().assign(place=[f"+{number}" for number in range(200)])
    data = resolve(frame, {"age": Variable(role="replace"), "answer": Variable(role="replace")})
    shuffled = frame.sample(frac=1, random_state=1)
    (tmp_path / "synthetic_01.csv").write_bytes(io.encode(shuffled, format="csv", escape_formulas=True))
    (tmp_path / "release.json").write_text('{"escaped_formulas": true}')
    found = scan(tmp_path, frame, data.schema, rng=np.random.default_rng(5))
    assert Kind.ROWS in {leak.kind for leak in found}


@pytest.mark.parametrize("seed", range(20))
def test_rounded_and_heaped_columns_coincide_by_nature(seed, tmp_path):
    rng = np.random.default_rng(seed)
    z, noise, again = rng.normal(size=(3, 400))
    other = rng.normal(size=400)
    original = pd.DataFrame(
        {
            "wage": np.round(1000 + 300 * (z + noise), -1),  # heaped at tens
            "age": np.round(40 + 10 * (z + noise)),
            "sex": rng.choice(["F", "M"], 400),
            "z": z,
        }
    )
    # a narrow mask: half of the noise stays
    kept = 0.7 * noise + 0.7 * again
    copy = pd.DataFrame(
        {
            "wage": np.round(1000 + 300 * (z + kept)),
            "age": np.round(40 + 10 * (z + 0.7 * noise + 0.7 * other)),
            "sex": np.where(rng.random(400) < 0.8, original["sex"], "F"),
            "z": z,
        }
    )
    data = resolve(original, {name: Variable(role="replace") for name in ("wage", "age", "sex")})
    io.write(copy.iloc[rng.permutation(400)], tmp_path / "synthetic_01.csv", format="csv")
    (tmp_path / "SHA256SUMS").write_text(f"{'0a' * 32}  synthetic_01.csv\n")
    assert scan(tmp_path, data.frame, data.schema, rng=rng) == ()


def test_every_release_is_scanned_before_it_is_public(tmp_path, monkeypatch):
    monkeypatch.setattr("synthdp.release.readme", lambda *_: "from /srv/secret/original.csv")
    make(tmp_path / "out", "synthesis.copies=1")
    assert not (tmp_path / "out" / "public").exists()
    gate = json.loads((tmp_path / "out" / "confidential" / "metrics.json").read_text())["gate"]
    assert (gate["verdict"], gate["passed"]) == ("refused", False)
    assert any("absolute paths" in reason for reason in gate["reasons"])
    manifest = json.loads((tmp_path / "out" / "confidential" / "manifest.json").read_text())
    assert manifest["status"] == "refused"


# planted leaks


def edit(out, change, name="synthetic_02.csv"):
    path = out / "public" / name
    table = io.read(path)
    io.write(change(table), path, format="csv")


def told(out, **more):
    path = out / "public" / "release.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | more))


def say(out, text):
    with (out / "public" / "README.md").open("a") as file:
        file.write(f"\n{text}\n")


def rows_of(out, name="synthetic_02"):
    return io.read(out / "confidential" / "rows.parquet")[name].to_numpy()


def true_rows(out, data, share):
    def change(table):
        some = np.random.default_rng(3).random(len(table)) < share
        true = data.frame.iloc[rows_of(out)].reset_index(drop=True)
        return table.where(~pd.Series(some), true)

    edit(out, change)


def true_values(out, data, share):
    def change(table):
        some = np.random.default_rng(3).random(len(table)) < share
        true = data.frame["age"].to_numpy()[rows_of(out)]
        return table.assign(age=np.where(some, true, table["age"]))

    edit(out, change)


def donors(out, data):
    rng = np.random.default_rng(4)
    edit(out, lambda table: table.assign(age=rng.choice(data.frame["age"].to_numpy(), len(table))))


def weights(out, data):
    rng = np.random.default_rng(4)
    true = data.frame["age"].to_numpy()[rows_of(out)]
    edit(out, lambda table: table.assign(w=true + rng.normal(0, 20, len(table))))


def in_order(out, data):
    edit(out, lambda table: table.iloc[np.argsort(rows_of(out))])


def reversed_order(out, data):
    edit(out, lambda table: table.iloc[np.argsort(rows_of(out))[::-1]])


def one_order(out, data):
    edit(out, lambda table: table.iloc[np.argsort(rows_of(out))[np.asarray(rows_of(out, "synthetic_01"))]])


def unlisted(out, data):
    (out / "public" / ".DS_Store").write_bytes(b"\0\1")


def subfolder(out, data):
    (out / "public" / "old").mkdir()
    shutil.copy(out / "confidential" / "rows.parquet", out / "public" / "old")


def rare_level(out, data):
    def change(table):
        levels = json.loads(table.loc[table["name"] == "race", "levels"].iloc[0])
        table.loc[table["name"] == "race", "levels"] = json.dumps([*levels, "Zebulon42"])
        return table

    edit(out, change, "codebook.csv")


def extremes(out, data):
    def change(table):
        table.loc[table["name"] == "fvc", ["lower", "upper"]] = [data.frame["fvc"].min(), data.frame["fvc"].max()]
        return table

    edit(out, change, "codebook.csv")


def raw_seed(out, data):
    with (out / "public" / "synthetic_01.csv").open("ab") as file:
        file.write(b"# " + SEED.to_bytes(16, "little") + b"\n")


def compressed(out, data):
    path = out / "public" / "synthetic_01.csv"
    (out / "public" / "codes.txt.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=1))


def text_of(seed):
    return base64.b64encode(seed.to_bytes(16, "big")).decode()


PLANTED = {
    "all rows as they were": (Kind.ROWS, lambda out, data: true_rows(out, data, 1.0)),
    "one row in ten as it was": (Kind.ROWS, lambda out, data: true_rows(out, data, 0.1)),
    "ages left with their records": (Kind.VALUES, lambda out, data: true_values(out, data, 1.0)),
    "a fifth of the ages left with their records": (Kind.VALUES, lambda out, data: true_values(out, data, 0.2)),
    "ages of other records": (Kind.VALUES, donors),
    "the seed as a number": (Kind.SEED, lambda out, data: told(out, made=f"x{SEED}")),
    "the seed in hexadecimal": (Kind.SEED, lambda out, data: say(out, f"key {SEED:X}")),
    "the seed in base 64": (Kind.SEED, lambda out, data: told(out, key=text_of(SEED))),
    "the seed in bytes": (Kind.SEED, raw_seed),
    "another seed": (Kind.SEED, lambda out, data: told(out, seed=17)),
    "a number as long as a seed": (Kind.SEED, lambda out, data: say(out, "run 99887766554433221100")),
    "W as a column": (Kind.COLUMN, weights),
    "the strength of each record's mask": (
        Kind.RECORD_LIST, lambda out, data: told(out, extra={"sd": [0.5] * len(data.frame)})
    ),
    "the strength of a mask": (Kind.STRENGTH, lambda out, data: told(out, masks={"age": {"sd": 0.5}})),
    "the rows in their order": (Kind.ORDER, in_order),
    "the rows in reverse": (Kind.ORDER, reversed_order),
    "two copies in one order": (Kind.ORDER, one_order),
    "the moment": (Kind.TIME, lambda out, data: told(out, made=datetime.now(UTC).isoformat())),
    "the day": (Kind.TIME, lambda out, data: say(out, f"Version of {datetime.now(UTC):%Y-%m-%d}.")),
    "the second": (Kind.TIME, lambda out, data: told(out, stamp=datetime.now(UTC).timestamp())),
    "the moment of compression": (Kind.TIME, compressed),
    "a path": (Kind.PATH, lambda out, data: say(out, "from /srv/secret/original.csv")),
    "a path of Windows": (Kind.PATH, lambda out, data: say(out, r"from C:\Users\jane\original.csv")),
    "the user": (Kind.NAME, lambda out, data: say(out, "Made by jane.doe.")),
    "the host": (Kind.NAME, lambda out, data: told(out, software={"host": "stat-srv-17"})),
    "a level nobody has in the codebook": (Kind.LEVEL, rare_level),
    "the data's extremes as bounds": (Kind.BOUNDS, extremes),
    "a file of the system": (Kind.UNLISTED, unlisted),
    "a folder inside": (Kind.UNLISTED, subfolder),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_leak_is_caught(name, planted, monkeypatch):
    monkeypatch.setattr("getpass.getuser", lambda: "jane.doe")
    monkeypatch.setattr("platform.node", lambda: "stat-srv-17")
    out, data = planted
    kind, plant = PLANTED[name]
    plant(out, data)
    leaks = found_in(out, data)
    assert kind in {leak.kind for leak in leaks}
    shown = " ".join(map(str, leaks))
    for secret in (str(SEED), f"{SEED:x}", "Zebulon42", "jane", "stat-srv", "/srv"):
        assert secret not in shown
    assert all(leak.file for leak in leaks)


def test_ten_kinds_are_planted():
    assert len({kind for kind, _ in PLANTED.values()}) >= 10


def test_the_seed_is_found_without_a_manifest_only_by_its_looks(planted):
    out, data = planted
    say(out, f"key {SEED:x}")
    assert found_in(out, data, manifest=None) == ()
    say(out, "seed: 17")
    assert [leak.kind for leak in found_in(out, data, manifest=None)] == [Kind.SEED]


def test_a_dropped_column_that_came_back(planted):
    out, data = planted
    edit(out, lambda table: table.assign(name="x"))
    leaks = scan(out / "public", data.frame.assign(name="y"), data.schema, rng=np.random.default_rng(5))
    assert [(leak.kind, leak.sentence) for leak in leaks] == [
        (Kind.COLUMN, "name is a column of the original that should have been dropped.")
    ]


def test_a_kept_function_of_a_replaced_column(planted):
    out, data = planted
    frame = data.frame.assign(fvc=np.log(data.frame["age"]))
    leaks = scan(out / "public", frame, data.schema, rng=np.random.default_rng(5))
    assert Leak(Kind.DERIVED, "", "fvc is kept, and age can be read off it.") in leaks


def test_derived_columns_follow_their_sources(tmp_path):
    rng = np.random.default_rng(8)
    frame = pd.DataFrame({"a": rng.normal(size=50), "b": rng.normal(size=50), "z": rng.normal(size=50)})
    copy = frame.assign(a=rng.permutation(frame["a"]) + 0.1)
    copy["b"], copy["old"] = copy["a"] + 1, np.where(copy["a"] > 0, "yes", "no")
    columns = [Column(name=name, kind="continuous", role="replace", key=False) for name in "ab"]
    columns += [Column(name="z", kind="continuous", role="keep", key=False)]
    columns += [Column(name="old", kind="binary", role="keep", key=False, levels=("no", "yes"))]
    schema, derived = Schema(columns=tuple(columns)), {"b": "a + 1", "absent": "a"}
    frame["old"] = "no"

    def leaks():
        io.write(copy, tmp_path / "synthetic_01.csv", format="csv")
        found = scan(tmp_path, frame, schema, derived=derived, rng=np.random.default_rng(5))
        return [leak.sentence for leak in found if leak.kind is Kind.DERIVED]

    assert leaks() == []
    copy.loc[:2, "b"] += 0.5
    assert leaks() == ["b does not follow from its sources in 3 of 50 rows."]


def test_files_that_cannot_be_read(planted):
    out, data = planted
    (out / "public" / "synthetic_01.csv").write_bytes(b"\0\xff")
    (out / "public" / "codebook.csv").write_text("name,levels\nrace,nonsense\n")
    (out / "public" / "release.json").write_text("{")
    kinds = [(leak.kind, leak.file) for leak in found_in(out, data)]
    assert (Kind.UNREADABLE, "synthetic_01.csv") in kinds
    assert (Kind.UNREADABLE, "codebook.csv") in kinds


@pytest.mark.parametrize(
    ("header", "near"),
    [
        (b"xx27 Jul 2612:30:00", True),
        (b"xx27 Jul 2026 12:30", True),
        (b"01 Jan 1999 00:00", False),
        (b"99 Abc 2026 00:00", False),
    ],
)
def test_moments_in_the_headers_of_statistical_files(planted, header, near):
    out, data = planted
    (out / "public" / "other.sav").write_bytes(b"$FL2" + header)
    leaks = found_in(out, data, now=datetime(2026, 8, 1, tzinfo=UTC))
    assert (Kind.TIME in {leak.kind for leak in leaks}) == near


# before anything is public


def published(out, data, inspect, readme="Synthetic copies."):
    """Write a folder as a run does, with a check before it gets its name."""
    described = release.describe(data.schema, method="mi", copies=1, mask_draw=None, rule="reiter2003",
                                 records=len(data), masks={}, format="csv", imputations=1)  # fmt: skip
    with release.prepare_out(out, resume=False):
        return release.publish(
            out, [data.frame.assign(age=np.random.default_rng(2).normal(50, 15, len(data)).round(1))],
            codebook=release.codebook(data.schema, [data.frame], declared_levels={}),
            release=described, readme=readme, format="csv",
            permutations=[np.random.default_rng(3).permutation(len(data))], inspect=inspect,
        )  # fmt: skip


def test_a_folder_that_leaks_is_never_public(tmp_path):
    rng = np.random.default_rng(6)
    frame = pd.DataFrame({"z": rng.normal(size=60).round(3), "age": rng.normal(50, 15, 60).round(1)})
    data = resolve(frame, {"age": Variable(role="replace")})
    for read_them in (True, False):
        inspect = inspector(data.frame, data.schema, records=read_them, rng=rng)
        out = tmp_path / f"leaks {read_them}"
        with pytest.raises(GateRefused) as refused:
            published(out, data, inspect, readme="made in /srv/secret/place by hand")
        assert refused.value.exit_code == 3
        assert str(refused.value).splitlines() == [
            "The files hold what must not be public; nothing was published.",
            "README.md: path: it holds 1 absolute paths.",
        ]
        assert not [path for path in out.iterdir() if "public" in path.name]
        assert published(tmp_path / f"clean {read_them}", data, inspect)
        assert (tmp_path / f"clean {read_them}" / "public" / "release.json").is_file()


class Unreadable(pd.DataFrame):
    """Records that nobody may read."""

    def __len__(self):
        raise AssertionError("read")

    def __getitem__(self, key):
        raise AssertionError("read")


def test_the_scan_of_a_private_release_reads_no_record(planted):
    out, data = planted
    assert found_in(out, replace(data, frame=Unreadable()), records=False) == ()
    weights(out, data)
    say(out, f"key {SEED:x}")
    unlisted(out, data)
    kinds = {leak.kind for leak in found_in(out, replace(data, frame=Unreadable()), records=False)}
    assert kinds == {Kind.COLUMN, Kind.SEED, Kind.UNLISTED}
    with pytest.raises(AssertionError, match="read"):
        found_in(out, replace(data, frame=Unreadable()))


def test_who_wants_the_order_gets_it(planted):
    out, data = planted
    in_order(out, data)
    for shuffled in (True, False):
        inspect = inspector(data.frame, data.schema, shuffled=shuffled, rng=np.random.default_rng(5))
        assert any("row order" in sentence for sentence in inspect(out / "public")) == shuffled


def test_words_of_the_schema_are_no_leak(tmp_path):
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    rng = np.random.default_rng(7)
    frame = pd.DataFrame({f"visit {today}": rng.normal(size=40), "age": rng.normal(50, 15, 40).round(1)})
    data = resolve(frame, {"age": Variable(role="replace")})
    assert published(tmp_path / "out", data, inspector(data.frame, data.schema, rng=rng))


def test_large_files_are_looked_at_in_part(monkeypatch):
    monkeypatch.setattr(records, "MOST_ROWS", 50)
    rng = np.random.default_rng(8)
    n = 400
    frame = pd.DataFrame({"z": rng.normal(size=n), "age": rng.normal(50, 15, n)})
    data = resolve(frame, {"age": Variable(role="replace")})
    age = data.schema["age"]
    for copy, flagged in ((frame, True), (frame.assign(age=rng.normal(50, 15, n)), False)):
        pair = beside("copy", Original(data.frame), copy, data.schema, passive=set())
        leaks = list(records.verbatim_values(pair, age, level=0.001, rng=rng))
        assert bool(leaks) == flagged
        assert not flagged or "all 50 records" in leaks[0].sentence
        assert bool(list(records.row_order(pair, level=0.001, rng=rng)))  # z stands where it stood


# how much chance gives


@pytest.mark.parametrize("rate", [0.0, 0.02, 0.3])
def test_the_limit_is_passed_by_chance_as_rarely_as_promised(rate):
    rng, level, runs = np.random.default_rng(12), 0.01, 4000
    own = rng.binomial(200, rate, runs)
    others = rng.binomial(2000, rate, runs)
    beyond = np.mean(
        [a > chance_limit(int(b), times=10, most=200, level=level) for a, b in zip(own, others, strict=True)]
    )
    assert beyond <= level + 4 * np.sqrt(level / runs)


@pytest.mark.parametrize("level", [0.05, 0.001, 1e-9])
def test_limits_are_those_of_scipys_distributions(level):
    means = np.r_[0.0, np.geomspace(1e-3, 300, 60), np.arange(1.0, 20.0)]
    assert [poisson_limit(mean, level=level) for mean in means] == stats.poisson.isf(level, means).tolist()
    for hits in (0, 3, 40):
        counts = np.arange(1, 201)
        explained = counts[stats.binom.sf(counts - 1, counts + hits, 2 / 12) > level]
        assert chance_limit(hits, times=10, most=200, level=level, likelier=2.0) == explained.max(initial=0)


def test_permutations_stay_below_the_poisson_limit():
    rng, runs = np.random.default_rng(13), 2000
    for groups in (300, 40, 2):
        ids = rng.integers(groups, size=300)
        mean = float((np.bincount(ids) ** 2).sum()) / 300
        beyond = np.mean([np.sum(ids == rng.permutation(ids)) > poisson_limit(mean, level=0.01) for _ in range(runs)])
        assert beyond <= 0.01 + 4 * np.sqrt(0.01 / runs)


def test_correlations():
    rng, runs = np.random.default_rng(14), 2000
    limit = correlation_limit(50, level=0.01)
    beyond = np.mean([abs(rank_correlation(rng.random(50), rng.random(50))) > limit for _ in range(runs)])
    assert beyond <= 0.01 + 4 * np.sqrt(0.01 / runs)
    assert rank_correlation(np.arange(9.0), np.exp(np.arange(9.0))) == pytest.approx(1)
    assert rank_correlation(np.arange(9.0), np.ones(9)) == 0


# words that are nobody's secret


def small(tmp_path, text, hidden="Codebook"):
    """Return a public folder with one document, and an original with a level that no copy has."""
    schema = Schema(columns=(Column(name="a", kind="nominal", role="keep", key=False, levels=("Elm", hidden)),))
    (tmp_path / "synthetic_01.csv").write_text("a\nElm\n")
    (tmp_path / "datasheet.md").write_text(text)
    return pd.DataFrame({"a": ["Elm", hidden]}), schema


def kinds_in(tmp_path, original, schema, **more):
    found = scan(tmp_path, original, schema, rng=np.random.default_rng(1), **more)
    return {leak.kind for leak in found if leak.file == "datasheet.md"} - {Kind.UNLISTED}


def test_a_level_that_is_a_word_of_every_document_tells_nothing(tmp_path):
    original, schema = small(tmp_path, "Codebook: see beside")
    assert kinds_in(tmp_path, original, schema) == {Kind.LEVEL}
    assert kinds_in(tmp_path, original, schema, said="Codebook: see beside") == set()
    assert kinds_in(tmp_path, original, schema, said="something else") == {Kind.LEVEL}


def test_what_the_publisher_states_may_be_public(tmp_path, monkeypatch):
    monkeypatch.setattr("getpass.getuser", lambda: "mcurie")
    stated = {"creators": ["McUrie, Eve"], "abstract": "As of 2026-11-01, kept in /srv/data/a."}
    text = "by McUrie, Eve. As of 2026-11-01, kept in /srv/data/a."
    original, schema = small(tmp_path, text)
    more = {"now": datetime(2026, 11, 18, tzinfo=UTC)}
    assert kinds_in(tmp_path, original, schema, **more) == {Kind.NAME, Kind.TIME, Kind.PATH}
    manifest = {"config": {"release": stated}}
    assert kinds_in(tmp_path, original, schema, manifest=manifest, **more) == set()
    (tmp_path / "datasheet.md").write_text(text + " Made 2026-11-18.")
    assert kinds_in(tmp_path, original, schema, manifest=manifest, **more) == {Kind.TIME}


@pytest.mark.parametrize(
    "text",
    [
        "see R&amp;D 'north'",
        "see R&#38;D &apos;north&apos;",
        "x: 'see R&D ''north'''",
        "see R&D\n  'north'",
        json.dumps({"a": "R&D 'north' \\"}),
    ],
)
def test_a_level_is_found_however_a_document_writes_it(tmp_path, text):
    original, schema = small(tmp_path, text, hidden="R&D 'north'")
    assert kinds_in(tmp_path, original, schema) == {Kind.LEVEL}


def test_a_level_in_quotation_marks_is_found_in_json(tmp_path):
    original, schema = small(tmp_path, json.dumps({"a": 'the "old" town'}), hidden='the "old" town')
    assert kinds_in(tmp_path, original, schema) == {Kind.LEVEL}


def test_a_level_of_blanks_is_nowhere(tmp_path):
    original, schema = small(tmp_path, "some words", hidden=" " * 12)
    assert kinds_in(tmp_path, original, schema) == set()


def test_rare_levels_meet_by_chance_more_often_than_the_normal_limit_says():
    """Of two columns that 6 of 300 records have, two meet with P = 0.0058 (hypergeometric)."""
    rng, limit = np.random.default_rng(1), correlation_limit(300, level=1e-4)
    normal = tied = 0
    for _ in range(4000):
        a, b = np.zeros(300), np.zeros(300)
        a[rng.choice(300, 6, replace=False)] = b[rng.choice(300, 6, replace=False)] = 1
        if rank_correlation(a, b) > limit:
            normal += 1
            tied += not ties_explain(a, b, level=1e-4, rng=rng)
    expected = stats.hypergeom.sf(1, 300, 6, 6)
    assert abs(normal / 4000 - expected) < 4 * np.sqrt(expected / 4000)
    assert tied <= 4  # four of 4,000 have a probability of 0.001 at a level of 0.0001
    same = np.repeat([1.0, 0.0], [6, 294])
    # an order that was kept is found, of rare levels and of columns that differ everywhere
    assert not ties_explain(same, same, level=1e-6, rng=rng)
    assert not ties_explain(np.arange(300.0), np.arange(300.0), level=1e-6, rng=rng)


def test_copies_in_memory_are_read_as_the_scanner_reads_files() -> None:
    """A column that stays as it is in every copy is copied over; one that is drawn anew is not."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"z": rng.normal(size=200), "sex": rng.choice(["f", "m"], 200)})
    data = resolve(frame, {"sex": Variable(role="replace")})
    drawn = [data.frame.assign(sex=rng.permutation(data.frame["sex"])) for _ in range(2)]
    assert list(copied(data.frame, drawn, data.schema, rng=rng)) == []
    found = list(copied(data.frame, [*drawn, data.frame], data.schema, rng=rng))
    assert {one.kind for one in found} == {Kind.VALUES}, "two levels are too few to tell a row"
    assert {one.file for one in found} == {"copy 3"}
