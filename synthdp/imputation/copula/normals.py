"""Normal probabilities, quantiles and truncated draws, compiled.

One at a time in double precision, in blocks in single precision.

One record after another spends its time waiting: each coordinate's draw needs the one before. So a coordinate is drawn
for a block of records, in loops without branches, which the compiler turns into vector instructions: about eight
times as fast. Single precision moves a latent by a ten millionth of itself; sums over records are added up in double
precision.

References
----------
Wichura (1988), Applied Statistics 37(3), 477-484, algorithm AS 241 (the normal quantile; PPND7 to seven digits).
Hart et al. (1968), Computer Approximations, algorithm 5666 (the normal distribution, for double precision), as given by
West (2005), Wilmott Magazine, 70-76.
Adler (1981), Physical Review D 23(12), 2901-2904, and Neal (1998), in Learning in Graphical Models, 205-228
(overrelaxation: a draw on the other side of its conditional distribution than the last one).
"""

import math

import numpy as np
import numpy.typing as npt

from synthdp.arrays import Kernel, compiled, jit
from synthdp.imputation.copula.latent import Singles

FARTHEST = 37.0  # beyond it the normal tail is zero in floating point


@compiled
def quantile(p: float) -> float:
    """Return the standard normal quantile, to about 16 digits (AS 241, PPND16)."""
    q = p - 0.5
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        a = (
            (2509.0809287301226727 * r + 33430.575583588128105) * r + 67265.770927008700853
        ) * r + 45921.953931549871457
        a = (((a * r + 13731.693765509461125) * r + 1971.5909503065514427) * r + 133.14166789178437745) * r
        b = ((5226.495278852545925 * r + 28729.085735721942674) * r + 39307.89580009271061) * r + 21213.794301586595867
        b = (((b * r + 5394.1960214247511077) * r + 687.1870074920579083) * r + 42.313330701600911252) * r
        return q * (a + 3.387132872796366608) / (b + 1.0)
    tail = p if q < 0 else 1.0 - p
    if tail <= 0.0:
        return -np.inf if q < 0 else np.inf
    r = math.sqrt(-math.log(tail))
    if r <= 5.0:
        r -= 1.6
        a = ((7.7454501427834140764e-4 * r + 0.0227238449892691845833) * r + 0.24178072517745061177) * r
        a = (((a + 1.27045825245236838258) * r + 3.64784832476320460504) * r + 5.7694972214606914055) * r
        a = (a + 4.6303378461565452959) * r + 1.42343711074968357734
        b = ((1.05075007164441684324e-9 * r + 5.475938084995344946e-4) * r + 0.0151986665636164571966) * r
        b = (((b + 0.14810397642748007459) * r + 0.68976733498510000455) * r + 1.6763848301838038494) * r
        b = (b + 2.05319162663775882187) * r + 1.0
    else:
        r -= 5.0
        a = ((2.01033439929228813265e-7 * r + 2.71155556874348757815e-5) * r + 0.0012426609473880784386) * r
        a = (((a + 0.026532189526576123093) * r + 0.29656057182850489123) * r + 1.7848265399172913358) * r
        a = (a + 5.4637849111641143699) * r + 6.6579046435011037772
        b = ((2.04426310338993978564e-15 * r + 1.4215117583164458887e-7) * r + 1.8463183175100546818e-5) * r
        b = (((b + 7.868691311456132591e-4) * r + 0.0148753612908506148525) * r + 0.13692988092273580531) * r
        b = (b + 0.59983220655588793769) * r + 1.0
    return -a / b if q < 0 else a / b


@compiled
def cumulative(x: float) -> float:
    """Return Φ(x) within 1e-15, in the lower tail within 1e-7 of itself; four times as fast as the library's erfc."""
    z = abs(x)
    if z > FARTHEST:
        return 0.0 if x < 0.0 else 1.0
    e = math.exp(-0.5 * z * z)
    if z < 7.07106781186547:
        a = (((3.52624965998911e-2 * z + 0.700383064443688) * z + 6.37396220353165) * z + 33.912866078383) * z
        a = ((a + 112.079291497871) * z + 221.213596169931) * z + 220.206867912376
        b = (((8.83883476483184e-2 * z + 1.75566716318264) * z + 16.064177579207) * z + 86.7807322029461) * z
        b = (((b + 296.564248779674) * z + 637.333633378831) * z + 793.826512519948) * z + 440.413735824752
        tail = e * a / b
    else:
        tail = e / (z + 1.0 / (z + 2.0 / (z + 3.0 / (z + 4.0 / (z + 0.65))))) / 2.506628274631
    return tail if x < 0.0 else 1.0 - tail


@compiled
def truncated(low: float, high: float, u: float) -> float:
    """Return the quantile u of a standard normal between ``low`` and ``high``, exact in either tail."""
    if low == -np.inf and high == np.inf:
        return quantile(u)
    flipped = low > 0.0
    if flipped:  # the lower tail keeps its digits, the upper one does not
        low, high, u = -high, -low, 1.0 - u
    if high < -FARTHEST:
        # the tail is exponential with rate |high| as far as doubles can tell
        x = high + math.log(u) / -high
    else:
        below = cumulative(low)
        x = quantile(below + u * (cumulative(high) - below))
    x = min(max(x, low), high)
    return -x if flipped else x


Words = npt.NDArray[np.uint32]
F = np.float32

NEAR = F(-6.5)  # below it single precision runs out of numbers: double, one by one
LEAST, SMALLEST = F(1e-30), F(1.4e-11)  # SMALLEST: what the single-precision quantile is good for
INFINITE = F(np.inf)
HALF, ONE, TWO = F(0.5), F(1), F(2)
# the exponential: rounding to integers by adding 1.5 · 2²³, the two parts of log 2, and Taylor's coefficients
ROUND, LOG2E, LN2_HIGH, LN2_LOW = F(12582912), F(1.4426950408889634), F(0.693145751953125), F(1.42860682030941723e-6)
E2, E3, E4, E5, E6 = F(1 / 2), F(1 / 6), F(1 / 24), F(1 / 120), F(1 / 720)
BIAS = np.int32(127 << 23)
FARTHEST_SINGLE = F(12)  # beyond it numbers lose digits, and time
# Φ(−z) / φ(z) · (z + 3) / √(2π): a polynomial in 1/(z + 3), interpolated at Chebyshev's points for 0 ≤ z ≤ 13
M_SCALE, M_SHIFT, M_K = F(7.38461538462), F(-1.46153846154), F(3)
M = tuple(
    F(c)
    for c in (
        0.83296705065,
        0.48770827437,
        0.1676532463,
        0.019919955708,
        -0.0070751998964,
        -0.0018202385703,
        0.00058699762871,
        0.00011671166093,
        -5.680428679e-5,
    )
)
# the quantile: the middle, and the tails by r = √(−log p)
MIDDLE, MIDDLE_SQUARE, TAIL_SHIFT = F(0.425), F(0.180625), F(1.6)
A = (F(3.3871327179), F(50.434271938), F(159.29113202), F(59.109374720))
B = (F(17.895169469), F(78.757757664), F(67.187563600))
C = (F(1.4234372777), F(2.7568153900), F(1.3067284816), F(0.17023821103))
D = (F(0.73700164250), F(0.12021132975))
# the logarithm: the mantissa between √½ and √2, and the series of its inverse hyperbolic tangent
ROOT_HALF, MANTISSA, LN2 = np.int32(0x3F3504F3), np.int32(23), F(0.6931471805599453)
# xoshiro128++
SEVEN, EIGHT, NINE, ELEVEN, TWENTY_ONE, TWENTY_FIVE = (np.uint32(k) for k in (7, 8, 9, 11, 21, 25))
STEP, HALF_STEP, BELOW_ONE = F(2.0**-24), F(2.0**-25), F(1 - 2.0**-24)
L3, L5, L7, L9 = F(1 / 3), F(1 / 5), F(1 / 7), F(1 / 9)


def vectorised(function: Kernel) -> Kernel:
    """Return a compiled function whose loops become vector instructions: fused products, no check of divisors."""
    return jit(function, error_model="numpy", fastmath={"contract", "nsz"})


@vectorised
def cumulatives(x: Singles, out: Singles, work: Singles) -> None:
    """Write Φ(x) to ``out``, within 4e-7 of itself for −12 < x; ``work`` is overwritten."""
    bits = work.view(np.int32)
    for i in range(x.shape[0]):
        z = min(abs(x[i]), FARTHEST_SINGLE)
        w = -HALF * z * z
        k = w * LOG2E + ROUND
        work[i] = k
        k -= ROUND
        r = (w - k * LN2_HIGH) - k * LN2_LOW
        bits[i] = (bits[i] << MANTISSA) + BIAS  # the low bits of the rounded number are the integer
        e = ONE + r * (ONE + r * (E2 + r * (E3 + r * (E4 + r * (E5 + r * E6)))))
        t = ONE / (z + M_K)
        s = t * M_SCALE + M_SHIFT
        m = M[3] + s * (M[4] + s * (M[5] + s * (M[6] + s * (M[7] + s * M[8]))))
        m = M[0] + s * (M[1] + s * (M[2] + s * m))
        tail = e * work[i] * m * t
        out[i] = tail if x[i] < F(0) else ONE - tail


@vectorised
def quantiles(p: Singles, out: Singles, work: Singles) -> None:
    """Write Φ⁻¹(p) to ``out``, within 1e-6 of itself for 1e-11 < p; ``work`` is overwritten."""
    bits = work.view(np.int32)
    for i in range(p.shape[0]):
        q = p[i] - HALF
        r = MIDDLE_SQUARE - q * q
        a = A[0] + r * (A[1] + r * (A[2] + r * A[3]))
        middle = q * a / (ONE + r * (B[0] + r * (B[1] + r * B[2])))
        t = max(p[i] if q < F(0) else ONE - p[i], LEAST)
        work[i] = t
        whole = bits[i]
        exponent = (whole - ROOT_HALF) >> MANTISSA
        bits[i] = whole - (exponent << MANTISSA)
        m = work[i]
        f = (m - ONE) / (m + ONE)
        g = f * f
        log = TWO * f * (ONE + g * (L3 + g * (L5 + g * (L7 + g * L9)))) + F(exponent) * LN2
        r = F(math.sqrt(-log)) - TAIL_SHIFT
        tail = (C[0] + r * (C[1] + r * (C[2] + r * C[3]))) / (ONE + r * (D[0] + r * D[1]))
        tail = -tail if q < F(0) else tail
        out[i] = middle if abs(q) <= MIDDLE else tail


@vectorised
def uniforms(state: Words, out: Singles) -> None:
    """Write uniforms between 0 and 1, both excluded, to ``out``: xoshiro128++, a generator of its own per lane.

    Parameters
    ----------
    state
        4 × lanes of random words; moved on.
    """
    for i in range(out.shape[0]):
        # numba adds and shifts in 64 bits: cut back to 32 each time
        a, b, c, d = state[0, i], state[1, i], state[2, i], state[3, i]
        s = np.uint32(a + d)
        word = np.uint32(np.uint32((s << SEVEN) | (s >> TWENTY_FIVE)) + a)
        c ^= a
        d ^= b
        state[1, i] = b ^ c
        state[0, i] = a ^ d
        state[2, i] = np.uint32(c ^ (b << NINE))
        state[3, i] = np.uint32((d << ELEVEN) | (d >> TWENTY_ONE))
        # halfway to one would be rounded to one
        out[i] = min(F(np.int32(word >> EIGHT)) * STEP + HALF_STEP, BELOW_ONE)


@vectorised
def draw_inside(
    m: int, a: Singles, b: Singles, x: Singles, u: Singles, reach: float, two_sided: bool, work: Singles
) -> None:
    """Draw the first m standard normals between a and b, in place of x.

    With ``reach`` below ½ the draw is overrelaxed: of the last x's probability v within the interval the new one is
    1 − v, give or take ``reach``, folded back into (0, 1). The truncated normal stays as it is; fresh ones otherwise.

    Parameters
    ----------
    a, b
        The limits; overwritten.
    x
        The last draws; the new ones afterwards.
    u
        Uniforms; overwritten.
    two_sided
        Whether any has two finite limits.
    work
        5 × m at least; overwritten.
    """
    sign, below, above, last, scratch = work[0, :m], work[1, :m], work[2, :m], work[3, :m], work[4, :m]
    limit = F(0) if two_sided else -INFINITE
    for i in range(m):
        flipped = a[i] > limit  # the lower tail keeps its digits, the upper one does not
        low = -b[i] if flipped else a[i]
        high = -a[i] if flipped else b[i]
        x[i] = -x[i] if flipped else x[i]
        sign[i] = -ONE if flipped else ONE
        a[i] = low
        b[i] = high
    cumulatives(b[:m], above, scratch)
    if two_sided:
        cumulatives(a[:m], below, scratch)
    else:
        below[:] = F(0)
    if reach < HALF:
        step = TWO * F(reach)
        cumulatives(x[:m], last, scratch)
        for i in range(m):
            mass = above[i] - below[i]
            t = abs(ONE - (last[i] - below[i]) / mass + step * (u[i] - HALF))
            t = ONE - abs(ONE - t)
            t = min(max(t, HALF_STEP), BELOW_ONE)
            # by the limits alone, so that what is drawn from does not depend on where the last draw was
            u[i] = t if (mass > LEAST) & (b[i] > NEAR) else u[i]
    far = 0
    for i in range(m):
        p = max(below[i] + u[i] * (above[i] - below[i]), LEAST)
        far += 1 if p < SMALLEST else 0
        last[i] = p
    quantiles(last, x[:m], scratch)
    if far > 0:
        for i in range(m):
            if b[i] < NEAR:
                x[i] = truncated(float(a[i]), float(b[i]), float(u[i]))
            elif last[i] < SMALLEST:
                x[i] = quantile(float(last[i]))
    for i in range(m):
        x[i] = sign[i] * min(max(x[i], a[i]), b[i])
