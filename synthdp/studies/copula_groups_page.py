"""The page of the study of risk groups."""

from typing import Any

from synthdp.studies.runner import table


def page(results: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the study as Markdown."""
    rows, original, groups = results["rows"], results["original"], results["groups"]
    useful = table(
        ("strategy", "t", "mean overlap", "work", "ILD", "lowest of work", "lowest of ILD"),
        [
            (
                row["strategy"],
                f"{row['t']:.3f}",
                f"{row['overlap']:.3f} ± {row['overlap_error']:.3f}",
                *(f"{row[name]:.3f}" for name in ("work_mean", "ild_mean", "work_lowest", "ild_lowest")),
            )
            for row in rows
        ],
    )
    found = table(
        ("strategy", "copies, tol 3", "averaged, tol 3", "copies, tol 5", "averaged, tol 5", *groups),
        [
            (
                row["strategy"],
                *(
                    f"{row[f'{attack}_expected_{tolerance}']:.1f} / {row[f'{attack}_true_{tolerance}']:.1f}"
                    for tolerance in (3, 5)
                    for attack in ("copies", "averaged")
                ),
                *(f"{row[f'found_{group}']:.3f}" for group in groups),
            )
            for row in rows
        ],
    )
    moved = table(
        ("strategy", *groups),
        [(row["strategy"], *(f"{row['moved'][group]['mean_distance']:.1f}" for group in groups)) for row in rows],
    )
    biased = table(
        ("masks", "model", "mean", "sd", "coefficient of Age"),
        [
            (row["strategy"], model, *(f"{row[model][k]:+.2f} ± {row[model][f'{k}_error']:.2f}" for k in KEYS))
            for row in results["bias"]
            for model in ("with H", "without H")
        ],
    )
    sizes = ", ".join(f"{count} {group}" for group, count in groups.items())
    return f"""# Risk groups with the copula

The pseudo registry, {settings["records"]} complete records; Age, sex, race and education replaced by `da_mi` with
`model: copula`, M = {settings["copies"]}, W per copy; means over {settings["seeds"]} seeds. Risk groups by neighbours
(k = 5): {sizes}. Every strategy has one dial t, the sd of Age's mask in units of its own sd; α of the other three is
1.5/sd. Per group, sd is t, 2t, 4t for low, medium, high; graded, t·√(30/s) with s ≥ 8 neighbours. t was set by
bisection so that the mean overlap of both analyses (work disability, lung disease; lung disease is never seen by the
model) is {settings["target"]}. Regenerate: `python -m synthdp.studies copula_groups --data FOLDER`.

{useful}

## Risks at that overlap

Expected / true matches; the last columns are the mean chance of being found in the copies (tolerance 3) by group.
Original against itself: {original["copies_expected_3"]:.1f} / {original["copies_true_3"]} at tolerance 3,
{original["copies_expected_5"]:.1f} / {original["copies_true_5"]} at 5.

{found}

## How far Age moves

![synthetic minus true Age by strategy and risk group](age_moves.svg)

Boxes: quartiles and 2.5% to 97.5% of synthetic minus true Age. Mean distance in years:

{moved}

## When the model does not know the groups

The masks depend on the group, the group depends on X: then p(x | z) is not p(x | z, h). Bias of mean, sd and probit
coefficient of Age (work disability) in the copies, in standard errors of the original, with Monte Carlo error. "With H"
lets group (or number of neighbours) move the latents' means; it does not give a group a spread of its own.

{biased}
"""


KEYS = ("mean", "sd", "coefficient")
