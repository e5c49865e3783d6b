"""The rules beyond Reiter 2003 and Rubin 1987: examples worked by hand, algebra, and what is refused."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from synthdp.errors import InputError
from synthdp.inference.analyses import Estimates
from synthdp.inference.combining import Pooled, combine
from synthdp.inference.rules import RULES

NESTED = [name for name, rule in RULES.items() if rule.nested]


def copies(q: list[float], v: list[float] | float) -> list[Estimates]:
    variances = [v] * len(q) if isinstance(v, float) else v
    return [Estimates(("t",), np.array([a]), np.array([[b]]), None) for a, b in zip(q, variances, strict=True)]


def found(pooled: Pooled) -> tuple[float, float, float]:
    """Return T, ν and the fraction."""
    return float(pooled.se[0] ** 2), float(pooled.df[0]), float(pooled.fraction[0])


class TestByHand:
    """Numbers small enough to follow with a pencil."""

    # q = 1, 3, 5: mean 3, b = 4
    @pytest.mark.parametrize(
        ("rule", "v", "ratio", "expected"),
        [
            # 4/3 + 2 = 10/3; (3 - 1)(1 + 2/(4/3))² = 2 · 2.5² = 12.5; (4/3)/(10/3) = 0.4
            ("reiter2003", 2.0, 1.0, (10 / 3, 12.5, 0.4)),
            # 2 + 16/3 = 22/3; 2 (1 + 2/(16/3))² = 2 · 1.375²; (16/3)/(22/3) = 8/11
            ("rubin1987", 2.0, 1.0, (22 / 3, 3.78125, 8 / 11)),
            # 16/3 - 2 = 10/3; 2 (1 - 2/(16/3))² = 2 · 0.625²; (4/3)/(10/3) = 0.4
            ("raghunathan2003", 2.0, 1.0, (10 / 3, 0.78125, 0.4)),
            # 16/3 - 6 < 0: 6 itself, or half of it when copies have half the records; M - 1
            ("raghunathan2003", 6.0, 1.0, (6.0, 2.0, 0.0)),
            ("raghunathan2003", 6.0, 0.5, (3.0, 2.0, 0.0)),
            # 3 (1 + 1/3) = 4, 3 (2 + 1/3) = 7; normal
            ("raab2016", 3.0, 1.0, (4.0, math.inf, 0.25)),
            ("raab2016", 3.0, 2.0, (7.0, math.inf, 1 / 7)),
            # 3 (1 + 2/3) = 5; 3 (2 + 3/3) = 9
            ("raab2016_proper", 3.0, 1.0, (5.0, math.inf, 0.4)),
            ("raab2016_proper", 3.0, 2.0, (9.0, math.inf, 1 / 3)),
            ("raab2016_sample", 3.0, 2.0, (1.0, math.inf, 1.0)),
            ("raab2016_sample_proper", 3.0, 2.0, (3.0, math.inf, 1.0)),
            ("mean_se", 3.0, 1.0, (3.0, math.inf, 0.0)),
        ],
    )
    def test_flat(self, rule, v, ratio, expected):
        pooled = combine(copies([1.0, 3.0, 5.0], v), rule, ratio=ratio)
        assert pooled.estimate[0] == pytest.approx(3.0)
        assert found(pooled) == pytest.approx(expected)

    # nests (0, 2) and (5, 9): means 1 and 7, B = 18; variances 2 and 8, b̄ = 5
    @pytest.mark.parametrize(
        ("rule", "expected"),
        [
            # 27 - 5/2 + 1 = 25.5; 1/ν = 27²/(1 · 25.5²) + 2.5²/(2 · 1 · 25.5²)
            ("reiter2004", (25.5, 25.5**2 / (27**2 + 2.5**2 / 2), 1 - 1 / 25.5)),
            # 1 + ½ · 1.5 · 36 + ½ · 5 = 30.5
            ("rubin2003", (30.5, 30.5**2 / (27**2 + 2.5**2 / 2), 1 - 1 / 30.5)),
            # 1 + 18/2 = 10; 1 · (1 + 2 · 1/18)²
            ("reiter2003_nested", (10.0, (1 + 1 / 9) ** 2, 0.9)),
        ],
    )
    def test_nested(self, rule, expected):
        pooled = combine(copies([0.0, 2.0, 5.0, 9.0], 1.0), rule, nests=2)
        assert pooled.estimate[0] == pytest.approx(4.0)
        assert found(pooled) == pytest.approx(expected)
        assert f"4 copies in 2 nests combined by {rule}" in str(pooled).splitlines()

    def test_reiter2004_below_zero_is_mended_for_that_term_only(self):
        # first term: means 0 and 0.2, B = 0.02, b̄ = 8 (±√8/√2 · …): 0.03 - 4 + 1 < 0, so T = 0.03 + 1
        q = np.array([[-2.0, 0.0], [2.0, 2.0], [-1.8, 5.0], [2.2, 9.0]])
        rows = [Estimates(("a", "b"), line, np.eye(2), None) for line in q]
        pooled = combine(rows, "reiter2004", nests=2)
        np.testing.assert_allclose(pooled.se**2, [1.03, 25.5])
        np.testing.assert_allclose(pooled.df, [(1 + 2 / (3 * 0.02)) ** 2, 25.5**2 / (27**2 + 2.5**2 / 2)])

    def test_the_interval_and_p_value_are_those_of_t(self):
        pooled = combine(copies([0.0, 2.0, 5.0, 9.0], 1.0), "reiter2003_nested", level=0.9, nests=2)
        t = stats.t((1 + 1 / 9) ** 2)
        assert pooled.high[0] - 4 == pytest.approx(t.ppf(0.95) * math.sqrt(10))
        assert pooled.p_value[0] == pytest.approx(2 * t.sf(4 / math.sqrt(10)))

    def test_one_copy_is_enough_for_raab(self):
        assert found(combine(copies([1.0], 3.0), "raab2016")) == pytest.approx((6.0, math.inf, 0.5))
        assert found(combine(copies([1.0], 3.0), "raab2016_proper")) == pytest.approx((9.0, math.inf, 2 / 3))

    def test_what_a_reader_must_know_is_printed(self):
        text = str(combine(copies([1.0], 3.0), "raab2016_sample"))
        assert text.endswith("raab2016_sample (for the estimate that the original would give, not for the population)")


class TestAlgebra:
    """What must hold for any numbers."""

    @given(
        st.lists(st.tuples(st.floats(-9, 9), st.floats(0.1, 9)), min_size=6, max_size=6),
        st.sampled_from(NESTED),
        st.permutations(range(6)),
        st.floats(0.1, 10),
    )
    def test_nests_may_come_in_any_order_and_unit(self, drawn, rule, order, scale):
        q, v = zip(*drawn, strict=True)
        nests = [0, 0, 1, 1, 2, 2]
        plain = combine(copies(list(q), list(v)), rule, nests=3)
        moved = combine(
            copies([scale * q[k] for k in order], [scale**2 * v[k] for k in order]),
            rule,
            nests=[nests[k] for k in order],
        )
        np.testing.assert_allclose(moved.se, scale * plain.se, rtol=1e-7)
        np.testing.assert_allclose(moved.df, plain.df, rtol=1e-6)

    @given(st.lists(st.tuples(st.floats(-9, 9), st.floats(0.1, 9)), min_size=2, max_size=8))
    def test_nests_of_one_copy_are_copies(self, drawn):
        q, v = zip(*drawn, strict=True)
        rows = copies(list(q), list(v))
        flat, nested = combine(rows, "reiter2003"), combine(rows, "reiter2003_nested", nests=len(rows))
        np.testing.assert_allclose([nested.se, nested.df], [flat.se, flat.df])

    def test_the_same_copies_in_every_nest_leave_the_missing_data_rules_alone(self):
        # copies of a nest that agree: b̄ = 0, and both nested rules are Rubin's over the nests
        rows = copies([1.0, 1.0, 2.0, 2.0, 4.0, 4.0], 2.0)
        rubin = combine(rows[::2], "rubin1987")
        for rule in ("reiter2004", "rubin2003"):
            nested = combine(rows, rule, nests=3)
            np.testing.assert_allclose([nested.se, nested.df], [rubin.se, rubin.df])

    @given(
        st.lists(st.tuples(st.floats(-9, 9), st.floats(0.01, 9)), min_size=6, max_size=6), st.sampled_from(list(RULES))
    )
    def test_no_variance_is_negative_and_fractions_are_shares(self, drawn, rule):
        q, v = zip(*drawn, strict=True)
        pooled = combine(copies(list(q), list(v)), rule, nests=3)
        assert pooled.se[0] > 0
        assert pooled.df[0] > 0
        assert 0 <= pooled.fraction[0] <= 1


class TestRefused:
    """What cannot be combined, in a sentence each."""

    @pytest.mark.parametrize("rule", NESTED)
    def test_nested_rules_need_the_layout(self, rule):
        with pytest.raises(InputError, match=f"^nests: {rule} combines copies in nests; say how many nests there are."):
            combine(copies([1.0, 2.0, 3.0, 4.0], 1.0), rule)

    @pytest.mark.parametrize(
        ("nests", "sentence"),
        [
            (3, "nests: 4 copies cannot form 3 nests of equal size."),
            (0, "nests: 4 copies cannot form 0 nests of equal size."),
            ([1, 1, 2], "nests: must name the nest of each of the 4 copies, found 3 names."),
            ([1, 1, 1, 2], "nests: must be of equal size, found 3, 1 copies."),
            (
                1,
                "nests: reiter2004 needs at least 2 nests of 2 copies each, found 1 of 4; give more copies, or ask ",
            ),
            (
                4,
                "nests: reiter2004 needs at least 2 nests of 2 copies each, found 4 of 1; give more copies, or ask ",
            ),
        ],
    )
    def test_layouts(self, nests, sentence):
        with pytest.raises(InputError) as refused:
            combine(copies([1.0, 2.0, 3.0, 4.0], 1.0), "reiter2004", nests=nests)
        assert str(refused.value).startswith(sentence)

    def test_one_copy_a_nest_is_said_so(self):
        with pytest.raises(InputError, match=r"reiter2003_nested needs at least 2 nests of 1 copy each, found 1 of 2"):
            combine(copies([1.0, 2.0], 1.0), "reiter2003_nested", nests=1)

    def test_ratios(self):
        with pytest.raises(InputError, match=r"^ratio: must be a positive number, found 0\.$"):
            combine(copies([1.0], 1.0), "raab2016", ratio=0)

    def test_too_few_for_raghunathan(self):
        with pytest.raises(InputError, match=r"^rule: raghunathan2003 needs at least 2 copies, found 1; give more"):
            combine(copies([1.0], 1.0), "raghunathan2003")
