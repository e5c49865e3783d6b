"""Combining rules against the formulas written out one term and one copy at a time."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from synthdp.errors import InputError
from synthdp.inference.analyses import Estimates
from synthdp.inference.combining import RULES, combine
from synthdp.inference.rules import unknown_rule


def estimates(q: list[float], v: list[float], names: tuple[str, ...] | None = None) -> Estimates:
    return Estimates(names or tuple(f"t{j}" for j in range(len(q))), np.array(q), np.diag(v), None)


def by_hand(rule: str, q: list[float], v: list[float]) -> tuple[float, float]:
    """Return T and ν for one term, in plain Python."""
    m = len(q)
    centre = sum(q) / m
    b = sum((value - centre) ** 2 for value in q) / (m - 1) if m > 1 else 0.0
    v_bar = sum(v) / m
    if rule == "reiter2003":
        return b / m + v_bar, (m - 1) * (1 + m * v_bar / b) ** 2
    if rule == "rubin1987":
        return v_bar + (1 + 1 / m) * b, (m - 1) * (1 + v_bar / ((1 + 1 / m) * b)) ** 2
    return v_bar, math.inf


@pytest.mark.parametrize("rule", ["reiter2003", "rubin1987", "mean_se"])
@pytest.mark.parametrize("m", [2, 3, 20])
def test_rules_match_the_written_formulas(rule: str, m: int) -> None:
    rng = np.random.default_rng(m)
    q, v = rng.normal(size=(m, 4)), rng.uniform(0.1, 2, size=(m, 4))
    pooled = combine([estimates(list(q[k]), list(v[k])) for k in range(m)], rule=rule, level=0.9)
    for j in range(4):
        variance, df = by_hand(rule, list(q[:, j]), list(v[:, j]))
        low, high = stats.t.interval(0.9, df, loc=q[:, j].mean(), scale=math.sqrt(variance))
        p_value = 2 * stats.t.sf(abs(q[:, j].mean()) / math.sqrt(variance), df)
        assert pooled.estimate[j] == pytest.approx(q[:, j].mean(), rel=1e-12)
        assert pooled.se[j] == pytest.approx(math.sqrt(variance), rel=1e-12)
        assert pooled.df[j] == pytest.approx(df, rel=1e-12)
        assert (pooled.low[j], pooled.high[j]) == pytest.approx((low, high), rel=1e-9)
        assert pooled.p_value[j] == pytest.approx(p_value, rel=1e-9)
        assert pooled.b[j] == pytest.approx(q[:, j].var(ddof=1))
        assert pooled.v_bar[j] == pytest.approx(v[:, j].mean())


@pytest.mark.parametrize("rule", ["reiter2003", "rubin1987"])
def test_copies_that_agree_give_the_normal_interval(rule: str) -> None:
    pooled = combine([estimates([1.0], [4.0])] * 3, rule=rule)
    assert math.isinf(pooled.df[0])
    assert (pooled.low[0], pooled.high[0]) == pytest.approx(stats.norm.interval(0.95, 1.0, 2.0))


def test_reiter_is_never_wider_than_rubin() -> None:
    copies = [estimates([value], [1.0]) for value in (0.0, 1.0, 3.0)]
    assert combine(copies, "reiter2003").se[0] < combine(copies, "rubin1987").se[0]


def test_no_variance_at_all() -> None:
    pooled = combine([estimates([1.0, 0.0], [0.0, 0.0])] * 2)
    assert pooled.low.tolist() == pooled.high.tolist() == [1.0, 0.0]
    assert pooled.p_value[0] == 0
    assert math.isnan(pooled.p_value[1])


def test_mean_se_takes_one_copy() -> None:
    pooled = combine([estimates([1.0], [0.25])], rule="mean_se")
    assert (pooled.se[0], pooled.b[0], pooled.copies) == (0.5, 0.0, 1)
    assert str(pooled).endswith("1 copy combined by mean_se (without the variance that synthesis adds)")


@given(
    st.lists(st.tuples(st.floats(-9, 9), st.floats(0.1, 9)), min_size=2, max_size=8),
    st.sampled_from([name for name, rule in RULES.items() if not rule.nested]),
    st.floats(0.1, 10),
    st.floats(-5, 5),
)
def test_rules_follow_changes_of_unit_and_ignore_the_order(
    copies: list[tuple[float, float]], rule: str, scale: float, shift: float
) -> None:
    plain = combine([estimates([q], [v]) for q, v in copies], rule)
    moved = combine([estimates([scale * q + shift], [scale**2 * v]) for q, v in reversed(copies)], rule)
    np.testing.assert_allclose(moved.se, scale * plain.se, rtol=1e-6)
    np.testing.assert_allclose(moved.low, scale * plain.low + shift, rtol=1e-6, atol=1e-6)


def test_terms_in_another_order_are_matched_by_name() -> None:
    pooled = combine([estimates([1.0, 10.0], [1, 4], ("a", "b")), estimates([10.0, 1.0], [4, 1], ("b", "a"))])
    assert pooled.estimate.tolist() == [1.0, 10.0]
    assert pooled.se.tolist() == [1.0, 2.0]


def test_vanished_term_is_named_with_its_copy() -> None:
    full, less = estimates([1, 2], [1, 1], ("a", "sex[T.M]")), estimates([1], [1], ("a",))
    with pytest.raises(InputError, match=r"copy 3: the term 'sex\[T.M\]' of copy 1 is not there; a level has vanished"):
        combine([full, full, less])
    with pytest.raises(InputError, match=r"copy 1: the term 'sex\[T.M\]' of copy 2 is not there"):
        combine([less, full])


@pytest.mark.parametrize("rule", ["reiter2003", "rubin1987"])
def test_one_copy_is_too_few(rule: str) -> None:
    with pytest.raises(InputError, match=f"rule: {rule} needs at least 2 copies, found 1; give more copies, or ask"):
        combine([estimates([1], [1])], rule)


def test_other_mistakes() -> None:
    with pytest.raises(InputError, match=r"^rule: mean_se needs at least one copy, found none\.$"):
        combine([], "mean_se")
    with pytest.raises(InputError, match=r"rule: no combining rule named 'rubin'; did you mean 'rubin1987'\?"):
        combine([estimates([1], [1])] * 2, "rubin")
    with pytest.raises(InputError, match=r"^level: must lie between 0 and 1, found 95\.$"):
        combine([estimates([1], [1])] * 2, level=95)
    assert unknown_rule("reiter2003") is None


def test_table_is_tidy() -> None:
    table = combine([estimates([1.0, 2.0], [1, 1])] * 2).table()
    assert list(table.columns) == ["term", "estimate", "se", "df", "low", "high", "p_value", "b", "v_bar", "fraction"]
    assert table["term"].tolist() == ["t0", "t1"]
    assert isinstance(table, pd.DataFrame)


def test_printed_table_lines_up() -> None:
    copies = [estimates([q, -q / 1e5], [1.0, 1e-12], ("Intercept", "a long term")) for q in (1.0, 1.2, 0.7)]
    lines = str(combine(copies, title="trend: ols y ~ x")).splitlines()
    assert lines[0] == "trend: ols y ~ x"
    assert len({len(line) for line in lines[1:-1]}) == 1
    assert lines[1].split() == ["term", "estimate", "se", "95%", "low", "95%", "high", "df", "p"]
    assert lines[-1] == "3 copies combined by reiter2003"


def test_an_interval_without_end_is_said_to_say_nothing():
    # v̄ is chosen so that T = (1 + 1/5) B − b̄/3 + v̄ is 10⁻⁴
    means, apart = [0.15, -0.15, 0.0, 0.0, 0.0], 0.3
    q = [mean + shift for mean in means for shift in (-apart, 0.0, apart)]
    within, between = apart**2, 2 * 0.15**2 / 4
    v = within / 3 - 1.2 * between + 1e-4
    pooled = combine([estimates([one, 1.0], [v, 0.01]) for one in q], "reiter2004", nests=5)
    assert pooled.se[0] ** 2 == pytest.approx(1e-4)
    assert pooled.df[0] < 1 < pooled.df[1]
    (note,) = pooled.notes
    assert note.startswith("no useful interval: t0. The total variance of reiter2004 came out so near 0")
    assert str(pooled).endswith(note)
    assert "no useful interval: t0." in pooled._repr_html_()


def test_many_intervals_without_end_are_counted_and_sound_ones_have_no_note():
    copies = [estimates([one] * 7, [v] * 7) for one, v in ((0.0, 0.25), (0.1, 0.25))]
    sound = combine(copies)
    assert sound.notes == ()
    assert ": t0, t1, t2, t3, t4 and 2 more." in replace(sound, df=np.full(7, 0.5)).notes[0]
