"""The page of the study."""

from collections.abc import Sequence

from reports.markdown import table_of
from reports.maskings.pictures import METHOD, TITLES
from reports.study import Results

PRINTED = {"k-PRAM": ("0.0688", "4.3986", "2.0973"), "k-noise": ("0.0341", "2.0607", "1.4355")}


def page(results: Results, settings: Results) -> str:
    """Return the page."""
    rows = [
        {
            METHOD: row[METHOD],
            **{key: f"{row[key]:.3f} ± {row[f'{key}_sd']:.3f}" for key in ("bias", "mse", "rmse")},
            "printed (one run)": " / ".join(PRINTED.get(row[METHOD], ("–",))),
            "records in another bin": f"{row['moved_counts']:.1%}",
            "Wasserstein, years": f"{row['wasserstein']:.3f}",
        }
        for row in results["table"]
    ]
    ratio, groups = results["ratio"], results["groups"]
    draws = next((row["draws"] for row in results["maps"]["voters"]), 0)
    counts = [{"": name, **{str(19 + 5 * j): n for j, n in enumerate(each)}} for name, each in _few(results["counts"])]
    return f"""# Classical maskings

What agencies use today, without a guarantee. Regenerate: `python -m reports maskings --data DIR`.

## A published experiment

Biswal (2024), section 3.6: 659 ages in twelve groups of five years from 19 to 79, masked within the group (k-PRAM) or
by U(−2.5, 2.5) (k-noise). The file is not public: `synthdp.datasets.ages` draws ages evenly within the published bins,
anew in each of {settings["replications"]} replications. ± is the standard deviation over replications; *printed* is
Table 3.4 (bias, MSE, RMSE).

{table_of(rows)}

Expected are E(Y − X)² = 2.5²/3 = 2.083 for k-noise and 5²/6 = 4.167 for k-PRAM on ages that are even within groups.
The ratio of the two RMSE is {ratio["mean"]:.3f} on average, {ratio["low"]:.3f} to {ratio["high"]:.3f} over
replications (printed: 0.6845; by the formulas 0.707). Both printed biases lie within what one run varies by, so that
"k-noise reduces the bias" does not follow from the table.

Counts of one run, by the lower end of the group; k-PRAM keeps them by construction, and those printed are the same:

{table_of(counts)}

Expected records within 2.5 years of a record's age after k-noise: {groups["mean"]["mean"]:.1f} on average over
records, {groups["mean"]["low"]:.1f} to {groups["mean"]["high"]:.1f} over replications (printed, on the file itself:
81.41); for the most remote record {groups["least"]["mean"]:.1f}. Theorem 3.5.1 promises, within 5 years, more than half
of those who were within 5 years before: it is at least {groups["theorem"]["low"]:.3f} of them, for any record of any
replication.

The last groups hold 9, 2 and 1 records, so what is called k-PRAM there has k = 1, and such edges are refused here
unless the settings say `k: 1`. Moving noise is wider where few are near, at most twice as wide.

![the figures of the experiment](ages.svg)

PRAM's example, 500 men and 500 women and a level kept with probability 0.8: whoever reads a level is right with
probability 0.8, odds 4. The log of the largest ratio in the matrix is ln 4 = 1.386. That is a number of the example:
`pram` claims no ε for a release.

## On the map

Every method on two real files, {draws} draws each: one masked file per draw, five copies where intervals need several
(DA-MI, CART), so that these show an intruder more and an analyst more. *linkage.attack*: share of records linked to
their own row by the keys; *attribute.gain*: how much better a value is guessed than by chance, the worst column (none
where every replaced column is a key); *panel.mean*, *analyses.overlap*: overlap of intervals with the original's. No
masking has a limit of its own here, and no ε.

By linkage and unforeseen analyses no masking is ahead of DA-MI in both: whichever links fewer people is less useful,
and those that are nearer to the original link 22% to 60% of the voters. By *attribute.gain* strong noise and PRAM are
ahead of it, as they blur what a value says of others. The strengths of the maskings are those that manuals use, not
tuned ones; the masks of DA-MI are 1 sd (half, double), chosen before any result.

![the map](map.svg)

{_maps(results)}

Intervals of a masked file know nothing of the masking: a wide overlap says that little was changed, not that the
intervals are right.
"""


def _few(counts: dict[str, Sequence[int]]) -> list[tuple[str, Sequence[int]]]:
    return [(name, counts[name]) for name in ("original", "k-PRAM", "k-noise", "k-noise, moving")]


def _maps(results: Results) -> str:
    parts = []
    for file, rows in results["maps"].items():
        cells = [
            {
                METHOD: row[METHOD],
                **{
                    key: "–" if row[key] is None else f"{row[key]:.3f} ± {row[f'{key}_error']:.3f}"
                    for key in ("linkage.attack", "attribute.gain", "panel.mean", "analyses.overlap")
                },
            }
            for row in rows
        ]
        lost = [f"* {row[METHOD]}: {reason}" for row in rows for reason in row["lost"]]
        parts.append(
            f"**{TITLES[file]}** (± is the standard error)\n\n{table_of(cells)}" + "".join(f"\n{one}" for one in lost)
        )
    return "\n\n".join(parts)
