"""The membership game: scores against plain twins, who is dealt what, and what the game finds and leaves alone."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.linear_model import Ridge

from synthdp.config import parse
from synthdp.errors import InputError, Unfinished
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.measure import Figures
from synthdp.evaluation.measures import measure
from synthdp.evaluation.risk import shadow
from synthdp.evaluation.risk.nearest import encode_records, nearest
from synthdp.evaluation.risk.shadow import evaluate_shadow
from synthdp.evaluation.risk.shadow.game import Deck, State, stand_ins, vulnerable
from synthdp.evaluation.risk.shadow.influence import ordinary_influence
from synthdp.evaluation.risk.shadow.questions import Coder, ask, compare, near
from synthdp.evaluation.risk.shadow.scores import Sheet
from synthdp.evaluation.risk.shadow.trial import PENALTIES, Rounds, evidence, found_at, learn, mean_auc
from synthdp.stages import assessing
from synthdp.stages.draws import FrameShadows, PlanShadows
from synthdp.synthesis.imputed import Mi
from synthdp.synthesis.making import visible
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.sequential import Sequential
from synthdp.table.microdata import Microdata, resolve
from synthdp.table.schema import Schema, Variable
from synthdp.tagging.groups import tag

SIX = pd.DataFrame(
    {
        "sex": ["F", "M", "F", "F", "M", None],
        "age": [20.0, 30.0, 40.0, 50.0, 90.0, np.nan],
        "pay": [1.0, 2.0, 2.0, 3.0, 9.0, 4.0],
    }
)
COPY = pd.DataFrame(
    {
        "sex": ["F", "F", "M", "M", "F", None],
        "age": [21.0, 44.0, 90.0, 31.0, np.nan, 50.0],
        "pay": [1.0, 2.5, 8.0, 2.0, 4.0, 9.0],
    }
)
VARIABLES = {
    "sex": Variable(kind="binary", levels=("F", "M")),
    "age": Variable(kind="continuous", role="replace", tolerance=2),
    "pay": Variable(kind="continuous", role="replace", tolerance=0.5),
}


def rng(seed: int = 5) -> np.random.Generator:
    return np.random.default_rng(seed)


def beside(data: Microdata) -> Comparison:
    return Comparison(data.frame, (), data.schema, aligned=False)


# scores


def six() -> tuple[Microdata, Coder]:
    data = resolve(SIX, VARIABLES)
    return data, Coder.of(data.frame, data.schema.columns)


def test_coded_differences_are_gowers_distance():
    data, coder = six()
    a, b = coder.code(data.frame), coder.code(COPY)
    original, copy = encode_records([data.frame, COPY], data.schema.columns)
    expected = nearest(original, copy, k=3, rng=rng())[1] * 3
    np.testing.assert_allclose(near(a, b, 3), expected, atol=1e-12)


@pytest.mark.parametrize("rows", [6, 1024, 2500])
def test_rows_are_counted_as_plain_arrays_count_them(rows: int):
    data, coder = six()
    records, copy = coder.code(data.frame), coder.code(COPY)
    # more rows than one tile holds, most of them with the same answers
    draw = rng()
    copy = np.column_stack([copy[draw.integers(0, 6, rows), j] for j in range(3)]) if rows > 6 else copy
    asked = ask(coder, records, records, rng=rng())
    radii = np.tile([0.3, 1.1], (6, 1))
    closest, within, seen, answers = compare(
        records, copy, coder.replaced, radii, asked.column_of, asked.low, asked.high, asked.queries
    )
    gaps = np.minimum(1, np.abs(records[:, None, :] - copy[None, :, :]))
    np.testing.assert_allclose(closest, gaps[:, :, coder.replaced].sum(axis=2).min(axis=1))
    np.testing.assert_array_equal(within, (gaps.sum(axis=2)[:, :, None] <= radii[:, None, :]).sum(axis=1))
    np.testing.assert_array_equal(seen, (gaps == 0).any(axis=1))
    values = copy[:, asked.column_of]
    held = (asked.low[:, None, :] <= values) & (values <= asked.high[:, None, :])
    for place, query in enumerate(asked.queries):
        bits = [b for b in range(held.shape[2]) if int(query) >> b & 1]
        np.testing.assert_array_equal(answers[:, place], held[:, :, bits].all(axis=2).sum(axis=1))


def test_questions_about_a_record_mean_what_they_say():
    data, coder = six()
    records = coder.code(data.frame)
    asked = ask(coder, records, records[[3, 5]], rng=rng())
    rows = coder.code(COPY)[:, asked.column_of]
    held = (asked.low[:, None, :] <= rows) & (rows <= asked.high[:, None, :])
    # bits: sex, age and pay at their closest; then the tails of age and pay; then age and pay within a tenth
    assert list(asked.column_of) == [0, 1, 2, 1, 2, 1, 2]
    person = held[0]  # F, 50, 3
    assert person[:, 0].tolist() == [True, True, False, False, True, False]
    assert person[:, 1].tolist() == [False, False, False, False, False, True]
    # median 40, half way to 50 is 45
    assert person[:, 3].tolist() == [False, False, True, False, False, True]
    # no age: only who has none is alike
    assert held[1][:, 1].tolist() == held[1][:, 3].tolist() == [False] * 4 + [True, False]
    assert len(set(asked.queries.tolist())) == len(asked.queries)


def test_values_count_when_they_are_rare():
    data, coder = six()
    sheet = Sheet.of(coder, data.frame, np.array([4, 1]), rng=rng())
    assert sheet.names == ("distance", "distance_replaced", "close", "closer", "density", "values")
    marks = sheet.mark([COPY], np.array([], dtype=np.int64))
    # M, 90, 9: the age (one of six) and the pay (one of six) stand somewhere in the copy; sex is kept and says nothing
    assert marks.scores[0, -1] == pytest.approx(2 * np.log(6), abs=1e-8)
    # M, 30, 2: no age of 30; a pay of 2 (two of six)
    assert marks.scores[1, -1] == pytest.approx(np.log(3), abs=1e-8)
    assert np.isfinite(marks.statistics).all()


# the deal


@pytest.mark.parametrize("others", ["half", "all"])
def test_every_fit_has_equally_many_rows_and_reference(others):
    tied = [np.array([0, 1]), np.array([7]), np.array([20])]
    deck = Deck(60, tied, [np.arange(30, 50)] * 3, others)
    hands = [deck.deal(number, rng=one) for number, one in enumerate(rng().spawn(200))]
    assert {len(hand.rows) for hand in hands} == {deck.size}
    assert len({len(hand.reference) for hand in hands}) == 1 if others == "half" else True
    for hand in hands:
        assert len(set(hand.rows)) == len(hand.rows)
        assert not set(hand.reference) & (set(hand.rows) | set(hand.donors))
        for state, together in zip(hand.states, tied, strict=True):
            assert set(together) <= set(hand.rows) if state != State.OUT else not set(together) & set(hand.rows)
            place = np.flatnonzero(hand.rows == together[0])
            if state == State.SWAPPED:
                assert hand.donors[place[0]] in range(30, 50)
                assert hand.donors[place[0]] not in hand.rows
            elif len(place):
                assert hand.donors[place[0]] == together[0]
    played = np.stack([hand.states for hand in hands]) != State.UNPLAYED
    assert played.all() if others == "half" else (played.sum(axis=1) == 1).all()


def test_a_donor_is_set_aside_whatever_the_state():
    deck = Deck(40, [np.array([0])], [np.array([5, 6])])
    hands = [deck.deal(0, rng=one) for one in rng().spawn(400)]
    for state in (State.IN, State.SWAPPED, State.OUT):
        # one of the two is aside for certain, the other is in like anybody else
        both = [{5, 6} <= set(hand.rows) for hand in hands if hand.states[0] == state]
        assert both
        assert not any(both)


def test_targets_that_cannot_be_swapped_are_not_played():
    deck = Deck(40, [np.array([0]), np.array([1])], [np.array([5]), np.array([5])])
    states = deck.deal(0, rng=rng()).states
    assert (states == State.UNPLAYED).sum() == 1


# whom to play for


def test_the_far_the_rare_and_the_extreme_are_chosen():
    draw = rng()
    frame = pd.DataFrame({"x": draw.normal(size=300), "y": draw.normal(size=300), "g": draw.choice(["a", "b"], 300)})
    frame.loc[17, "x"] = 60.0
    frame.loc[40, "g"] = "c"
    frame.loc[99, ["x", "y"]] = [2.4, -2.4]
    data = resolve(frame, {})
    found, sampled = vulnerable(data.frame, data.schema.columns, most=9, rng=rng())
    assert {17, 40, 99} <= set(found.tolist())
    assert len(set(found.tolist())) == 9
    assert not sampled
    together = np.arange(300) // 100
    assert len(vulnerable(data.frame, data.schema.columns, most=9, cluster=together, rng=rng())[0]) == 3


def test_donors_are_alike_on_kept_columns_and_lawful():
    frame = pd.DataFrame({"z": np.arange(40.0), "x": np.arange(40.0)})
    data = resolve(frame, {"x": Variable(role="replace")})
    even = lambda rows, donors: donors % 2 == 0  # noqa: E731
    (found,) = stand_ins(data.frame, data.schema.kept(), np.array([10]), [np.array([10, 12])], even, rng=rng())
    assert set(found[:4].tolist()) == {8, 14, 6, 4} or set(found[:4].tolist()) == {8, 14, 6, 16}
    assert 12 not in found
    assert (found % 2 == 0).all()


# judging


def plain_auc(scores: np.ndarray, member: np.ndarray) -> float:
    ours, theirs = scores[member][:, None], scores[~member][None, :]
    return float(np.mean((ours > theirs) + 0.5 * (ours == theirs)))


def test_mean_auc_is_the_mean_of_plain_aucs_and_its_interval_that_of_a_bootstrap_over_fits():
    draw = rng()
    member = draw.random((120, 6)) < 0.5
    shared = draw.normal(size=(120, 1))  # a fit that looks like a member does so for every target
    scores = np.round(0.7 * member + shared + 0.5 * draw.normal(size=(120, 6)), 1)
    rounds = Rounds(member, np.ones_like(member))
    found, each = mean_auc(scores, rounds)
    np.testing.assert_allclose(each, [plain_auc(scores[:, i], member[:, i]) for i in range(6)])
    values = []
    for _ in range(1000):
        fits = draw.integers(0, 120, 120)
        values.append(np.mean([plain_auc(scores[fits, i], member[fits, i]) for i in range(6)]))
    half = stats.t.ppf(0.975, 119) * np.std(values)
    # 1,000 resamples know the sd to 2.2%
    assert (found["high"] - found["low"]) / 2 == pytest.approx(half, rel=4 * 0.022)


def test_perfect_and_idle_scores_have_honest_intervals():
    member = np.tile([[True], [False]], (10, 1))
    rounds = Rounds(member, np.ones_like(member))
    found, _ = mean_auc(member.astype(float), rounds)
    assert found == {"value": 1, "low": pytest.approx(0.025 ** (1 / 10)), "high": 1}
    found, _ = mean_auc(-member.astype(float), rounds)
    assert found == {"value": 0, "low": 0, "high": pytest.approx(1 - 0.025 ** (1 / 10))}
    found, _ = mean_auc(np.zeros((20, 1)), rounds)
    assert (found["low"], found["value"], found["high"]) == (0.5, 0.5, 0.5)
    found, each = mean_auc(np.zeros((20, 1)), Rounds(np.ones_like(member), np.ones_like(member)))
    assert found["value"] is None
    assert np.isnan(each).all()


def test_the_discriminant_is_ridge_regression_with_the_penalty_of_least_gcv():
    draw = rng()
    x, new = draw.normal(size=(60, 5)) * [1, 2, 3, 4, 0], draw.normal(size=(7, 5))
    member = x[:, 0] + draw.normal(size=60) > 0
    y = np.where(member, 1.0, -1.0)
    varying, mean, sd = slice(0, 4), x[:, :4].mean(axis=0), x[:, :4].std(axis=0)
    scaled = (x[:, varying] - mean) / sd
    errors = []
    for penalty in PENALTIES * 60:
        hat = scaled @ np.linalg.solve(scaled.T @ scaled + penalty * np.eye(4), scaled.T) + 1 / 60
        errors.append(np.sum((y - hat @ y) ** 2) / (1 - np.trace(hat) / 60) ** 2)
    fitted = Ridge(alpha=PENALTIES[int(np.argmin(errors))] * 60).fit(scaled, y)
    np.testing.assert_allclose(learn(x, member, new), (new[:, varying] - mean) / sd @ fitted.coef_, atol=1e-9)
    np.testing.assert_array_equal(learn(np.ones((4, 2)), np.array([True, False] * 2), new[:, :2]), 0)


def test_evidence_is_a_log_likelihood_ratio():
    draw = rng()
    member = np.arange(40)[:, None] % 2 == 0
    rounds = Rounds(member, np.ones_like(member))
    train = draw.normal(size=(40, 1)) - 2.0 * member  # members score lower: the sign is learnt too
    test = np.linspace(-3, 3, 7)[:, None]
    ours, theirs = train[::2, 0], train[1::2, 0]
    sd = np.sqrt((ours.var() + theirs.var()) / 2)
    expected = stats.norm.logpdf(test, ours.mean(), sd) - stats.norm.logpdf(test, theirs.mean(), sd)
    np.testing.assert_allclose(evidence(train, rounds, test), expected, atol=1e-8)


def test_members_found_at_few_false_alarms():
    scores = np.arange(200.0)[:, None]
    member = scores >= 150
    member[0] = True
    found = found_at(0.05, scores, Rounds(member, np.ones_like(member)), rng=rng())
    assert found["value"] == pytest.approx(50 / 51)
    assert found["low"] <= found["value"] <= found["high"]


# how a run asks for it


def test_a_run_passes_on_what_the_config_says_of_the_game(monkeypatch):
    data = people(80, 1)
    settings = {"risk": ["membership_shadow"], "shadow": {"fits": 60, "targets": 7, "others": "all"}}
    config = parse({"data": {"path": "in memory"}, "evaluation": settings})
    asked: dict = {}

    def played(files, refit, **options):
        asked.update(options, refit=refit)
        return Figures({})

    monkeypatch.setattr(shadow, "evaluate_shadow", played)
    told: list[tuple[int, int]] = []
    advance = lambda done, total: told.append((done, total))  # noqa: E731
    making = assessing.making_of(config, Plan(data, tag(data, None)), 2, advance)
    measure("membership_shadow").take(replace(beside(data), request=config.request(), making=making), rng=rng())
    assert (asked["fits"], asked["targets"], asked["others"], asked["jobs"]) == (60, 7, "all", 2)
    assert asked["advance"] is advance
    assert repr(asked["refit"]) == "PlanShadows(DaMi, 80 records)"
    with pytest.raises(InputError, match=r"evaluation\.shadow\.fits"):
        parse({"data": {"path": "in memory"}, "evaluation": {"shadow": {"fits": 3}}})


# the game


def people(n: int, seed: int, *, kept: bool = False) -> Microdata:
    draw = rng(seed)
    frame = pd.DataFrame(
        {"x": draw.standard_t(3, n), "y": draw.normal(size=n), "g": draw.choice(list("abc"), n, p=[0.7, 0.25, 0.05])}
    )
    return resolve(frame, {name: Variable(role="keep" if kept and name == "y" else "replace") for name in frame})


def nobody(frame: pd.DataFrame, draw: np.random.Generator) -> list[pd.DataFrame]:
    n = len(frame)
    return [pd.DataFrame({"x": draw.normal(size=n), "y": draw.normal(size=n), "g": draw.choice(list("abc"), n)})]


def mirrored(frame: pd.DataFrame, draw: np.random.Generator) -> list[pd.DataFrame]:
    """Give every member away on the other side of zero: no row is near its person."""
    noise = draw.normal(0, 0.02, (2, len(frame)))
    return [pd.DataFrame({"x": -frame["x"] + noise[0], "y": -frame["y"] + noise[1], "g": nobody(frame, draw)[0]["g"]})]


def lines(found: dict, game: str = "membership") -> dict:
    return {line["score"]: line for line in found["scores"] if line["game"] == game}


def test_a_leak_is_found_that_distance_misses():
    data = people(240, 1)
    found = evaluate_shadow(beside(data), FrameShadows(mirrored, data), rng=rng(), fits=160, targets=12).section()
    blind = [lines(found)[name]["auc"] for name in ("distance", "density", "close", "closer")]
    assert max(blind) < 0.6
    assert found["score"] == "statistics"
    assert found["low"] > 0.65
    assert found["advantage_low"] > 0
    assert found["worst_target"]["auc"] > 0.75
    assert (found["targets"], found["fits"], found["rows"]) == (12, 160, 120)


def test_who_looks_at_nobody_gives_nobody_away():
    data = people(240, 2)
    found = evaluate_shadow(beside(data), FrameShadows(nobody, data), rng=rng(), fits=80, targets=12).section()
    assert found["low"] <= 0.5 <= found["high"]
    assert lines(found)["values"]["auc"] == 0.5


def test_kept_columns_tell_who_is_there_and_are_not_judged():
    data = people(240, 3, kept=True)

    def keeps(frame: pd.DataFrame, draw: np.random.Generator) -> list[pd.DataFrame]:
        return [nobody(frame, draw)[0].assign(y=frame["y"].to_numpy())]

    found = evaluate_shadow(beside(data), FrameShadows(keeps, data), rng=rng(), fits=120, targets=12).section()
    assert found["game"] == "given_kept"
    assert found["low"] <= 0.5 <= found["high"]
    assert lines(found)["queries"]["auc"] > 0.95  # a kept number is unique
    assert 0.4 < lines(found, "given_kept")["queries"]["auc"] < 0.6


def test_a_verbatim_row_is_found_given_the_kept_columns_by_either_intruder():
    data = people(160, 4, kept=True)
    verbatim = FrameShadows(lambda frame, _: [frame], data)
    for others, fits in (("half", 60), ("all", 80)):
        targets = 8 if others == "half" else 2
        found = evaluate_shadow(beside(data), verbatim, rng=rng(), fits=fits, targets=targets, others=others).section()
        assert found["others"] == others
        assert found["auc"] > 0.95


@pytest.mark.slow
def test_trees_remember_and_the_result_does_not_depend_on_processes():
    data = people(240, 5)
    plan = Plan(data, tag(data, None))
    method = Sequential(copies=1, model={"method": "cart", "min_leaf": 1, "smoothing": False})
    told: list[tuple[int, int]] = []
    found = [
        evaluate_shadow(
            beside(data),
            PlanShadows(method, plan),
            rng=rng(),
            fits=60,
            targets=10,
            jobs=jobs,
            advance=lambda done, total: told.append((done, total)),
        )
        for jobs in (1, 2)
    ]
    assert found[0].section() == found[1].section()
    assert found[0].section()["low"] > 0.55
    assert told == [(done, 60) for done in range(1, 61)] * 2
    assert len(found[0].individual) == len(found[0].targets) == 10
    assert repr(found[0]) == "ShadowRisk(10 targets)"


def test_shadows_learn_anew_what_came_from_the_data():
    frame = pd.DataFrame({"x": [*np.linspace(0, 1, 39), 50.0], "z": np.tile([0, 1], 20)})
    frame["twice"] = 2 * frame["x"]
    declared = {
        "x": Variable(role="replace", bounds_from="data", kind="continuous"),
        "twice": Variable(derived="2 * x"),
    }
    data = resolve(frame, declared)
    plan = Plan(visible(data), tag(data, None), constraints=("x > z - 1.5",), whole=data)
    shadows = PlanShadows(Mi(copies=2), plan)
    rows = np.arange(39)
    copies = shadows(rows, rows, rng=rng())
    assert [list(copy.columns) for copy in copies] == [list(frame.columns)] * 2
    assert max(float(copy["x"].max()) for copy in copies) <= 1.0  # nothing of record 39, not even the bounds
    np.testing.assert_allclose(copies[0]["twice"], 2 * copies[0]["x"], atol=0.02)
    joined = shadows(np.arange(1, 40), np.arange(39), rng=rng())
    assert joined[0]["z"].tolist() == frame["z"].iloc[1:].tolist()
    strict = PlanShadows(Mi(copies=2), Plan(visible(data), tag(data, None), constraints=("x > z - 0.5",), whole=data))
    # the kept z of record 1 is 1, and x must then exceed 0.5
    assert strict.lawful(np.array([1, 1]), np.array([0, 38])).tolist() == [False, True]


def test_swaps_do_not_give_values_to_whom_a_column_does_not_apply():
    frame = pd.DataFrame({"job": ["YES", "NO"] * 10, "pay": [3.0, None, 4.0, None] * 5})
    declared = {"pay": Variable(role="replace", kind="continuous", applies_when="job == 'YES'")}
    data = resolve(frame, declared)
    shadows = PlanShadows(Mi(), Plan(data, tag(data, None)))
    assert shadows.lawful(np.array([0, 0]), np.array([1, 2])).tolist() == [False, True]


# influence and memory


def test_ordinary_influence_is_what_the_best_reader_of_means_and_variances_wins():
    """One normal column: halves are drawn, parameters and copies too, and Fisher's discriminant reads the copies."""
    draw, n, copies, fits = rng(), 400, 2, 4000
    frame = pd.DataFrame({"x": stats.norm.ppf((np.arange(n) + 0.5) / n)})
    data = resolve(frame, {"x": Variable(role="replace")})
    target, h = np.array([n - 3]), n // 2  # z = 2.5, and not beyond the cut
    expected = ordinary_influence(data.frame, data.schema.columns, target, rows=h, copies=copies, known=False)[0]
    x = frame["x"].to_numpy()
    others = np.delete(x, target[0])
    member = np.arange(fits) % 2 == 0
    seen = np.zeros((fits, 2))
    for fit in range(fits):
        fitted = draw.permutation(others)[: h - member[fit]]
        fitted = np.append(fitted, x[target]) if member[fit] else fitted
        for _ in range(copies):
            variance = fitted.var() * h / draw.chisquare(h)
            copy = draw.normal(draw.normal(fitted.mean(), np.sqrt(variance / h)), np.sqrt(variance), h)
            seen[fit] += [copy.mean(), copy.var()]
    gap = seen[member].mean(axis=0) - seen[~member].mean(axis=0)
    within = (np.cov(seen[member], rowvar=False) + np.cov(seen[~member], rowvar=False)) / 2
    found = plain_auc(seen @ np.linalg.solve(within, gap), member)
    # an AUC of 2,000 against 2,000 near one half has a standard error of (1/12 · 2/2,000)^½
    assert abs(found - expected) < 4 * np.sqrt(2 / 12 / 2000)
    assert 0.53 < expected < 0.62


def test_influence_shrinks_with_the_file_and_excuses_no_outlier():
    def of(n: int, last: float, level: str = "a") -> float:
        draw = rng()
        frame = pd.DataFrame({"x": draw.normal(size=n), "g": draw.choice(["a", "b"], n), "z": draw.normal(size=n)})
        frame.loc[n - 1, ["x", "g"]] = [last, level]
        roles = {"x": Variable(role="replace"), "g": Variable(role="replace")}
        data = resolve(frame, roles)
        found = ordinary_influence(
            data.frame, data.schema.columns, np.array([n - 1]), rows=n // 2, copies=5, known=False
        )
        return float(found[0])

    assert 0.5 < of(10_000, 3.0) < of(1_000, 3.0) < of(300, 3.0) < 0.8
    assert of(1_000, 200.0) == pytest.approx(of(1_000, 20.0), abs=0.02)
    assert of(1_000, 0.0, "alone") < 0.95
    assert of(1_000, 0.0, "alone") > of(1_000, 0.0)


# what cannot be played


def test_too_little_to_play_with_is_said():
    data = people(40, 6)
    shadows = FrameShadows(nobody, data)
    with pytest.raises(InputError, match="at least 40 fits to learn from, found 10"):
        evaluate_shadow(beside(data), shadows, rng=rng(), fits=10)
    with pytest.raises(InputError, match="8 records or more and a target, found 40 and 0"):
        evaluate_shadow(beside(data), shadows, rng=rng(), targets=0)


def test_a_fit_without_copies_or_columns_is_said():
    data = people(80, 7)
    with pytest.raises(InputError, match="must give copies with rows"):
        evaluate_shadow(beside(data), FrameShadows(lambda *_: [], data), rng=rng(), fits=40, targets=4)
    short = FrameShadows(lambda frame, _: [frame.drop(columns="y")], data)
    with pytest.raises(InputError, match="copy 1 has no column 'y'"):
        evaluate_shadow(beside(data), short, rng=rng(), fits=40, targets=4)


def test_fits_that_fail_are_counted_until_they_are_too_many():
    data = people(80, 7)
    calls = iter(range(1000))

    def some(every: int):
        def make(frame: pd.DataFrame, draw: np.random.Generator) -> list[pd.DataFrame]:
            if next(calls) % every == 0:
                raise Unfinished("did not converge")
            return nobody(frame, draw)

        return FrameShadows(make, data)

    found = evaluate_shadow(beside(data), some(20), rng=rng(), fits=40, targets=4).section()
    assert (found["failed"], found["fits"]) == (2, 38)
    with pytest.raises(Unfinished, match="of 40 shadow fits failed"):
        evaluate_shadow(beside(data), some(2), rng=rng(), fits=40, targets=4)


def test_clusters_go_in_and_out_together_and_may_be_too_large():
    data = people(80, 8)
    frame = data.frame.assign(home=np.arange(80) // 2)
    base = resolve(frame, {name: Variable(role="replace") for name in "xyg"})
    columns = tuple(c.model_copy(update={"design": "cluster"}) if c.name == "home" else c for c in base.schema.columns)

    def pairs(table: pd.DataFrame, draw: np.random.Generator) -> list[pd.DataFrame]:
        whole = table["home"].value_counts()
        assert (whole == 2).sum() >= 1
        return nobody(table, draw)

    held = Comparison(base.frame, (), Schema(columns=columns), aligned=False)
    found = evaluate_shadow(held, FrameShadows(pairs, base), rng=rng(), fits=40, targets=4)
    assert len(found.targets) == 4
    large = Comparison(base.frame.assign(home=0), (), Schema(columns=columns), aligned=False)
    with pytest.raises(InputError, match="one cluster has more than an eighth"):
        evaluate_shadow(large, FrameShadows(pairs, base), rng=rng(), fits=40, targets=4)


def test_a_target_without_stand_in_is_not_played_for():
    data = people(80, 9, kept=True)

    class Never(FrameShadows):
        def lawful(self, rows, donors):
            return np.zeros(len(rows), dtype=bool)

    with pytest.raises(InputError, match="no record could stand in"):
        evaluate_shadow(beside(data), Never(nobody, data), rng=rng(), fits=40, targets=4)


@pytest.mark.slow
def test_harmless_files_have_a_coin_in_their_interval():
    held = 0
    for seed in range(20):
        data = people(120, 100 + seed, kept=seed % 2 == 0)

        def keeps(frame: pd.DataFrame, draw: np.random.Generator) -> list[pd.DataFrame]:
            return [nobody(frame, draw)[0].assign(y=frame["y"].to_numpy())]

        found = evaluate_shadow(
            beside(data), FrameShadows(keeps if seed % 2 == 0 else nobody, data), rng=rng(seed), fits=60, targets=8
        ).section()
        held += found["low"] <= 0.5 <= found["high"]
    # 19 of 20 expected; four standard errors below is 15.1
    assert held >= 16
