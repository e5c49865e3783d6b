"""The command ``synthdp dp leakage``: what means published period after period say, and what so many of them cost.

For the curator: it reads confidential series without noise. Only typer is imported here.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from synthdp.cli import terminal
from synthdp.cli.reading import read_columns
from synthdp.cli.terminal import option
from synthdp.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

EXAMPLE = """\b
Examples:
  synthdp dp leakage monthly.csv --bounds 0,5000 --epsilon 0.5 --delta 1e-6
  synthdp dp leakage monthly.csv --bounds 0,5000 --epsilon 0.5 --delta 1e-6 --structure common --releases 12"""

LEARNT = {"A1": "its first value", "A2": "its second value", "A3": "all first values", "A4": "both its values"}
SEEN = {"N1": "from the first mean", "N2": "from the second mean", "N3": "from both means"}
CONFIDENTIAL = "confidential: fitted to the series without noise; not covered by any ε, and not to be published."


def leakage(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The series: a row per period, a column per unit.")],
    bounds: Annotated[str, option("LOW,HIGH", "Lowest and highest possible value, known without the data.")],
    epsilon: Annotated[float, option("E", "Privacy budget of each mean.")],
    delta: Annotated[float, option("D", "Above 0: the noise is Gaussian.")],
    column: Annotated[list[str] | None, option("NAME", "A unit (repeat). [default: every column of numbers]")] = None,
    structure: Annotated[
        str, typer.Option(metavar="NAME", help="full, or common (one persistence for all; for many units).")
    ] = "full",
    releases: Annotated[int, typer.Option(metavar="K", min=1, help="Also plan the noise of so many means.")] = 12,
    out: Annotated[Path | None, option("FILE", "Also write what was found as JSON.")] = None,
) -> None:
    """Say what a published mean tells of other periods, and plan many."""
    from synthdp.privacy.guarantees import delta_of, epsilon_of
    from synthdp.privacy.leakage import fit_leakage, noise_sd
    from synthdp.privacy.mechanisms import Bounds
    from synthdp.privacy.planning import plan
    from synthdp.privacy.series import fit_var

    terminal.check_ending(out, ".json")
    epsilon_of(epsilon), delta_of(delta)
    ends = terminal.numbers(bounds, "--bounds") or []
    if len(ends) != 2:
        raise InputError(f"--bounds: must be two numbers, LOW,HIGH, found {len(ends)}.")
    within = Bounds(ends[0], ends[1])
    frame = _series(file, column)
    fitted = fit_var(frame, structure=structure)  # type: ignore[arg-type]
    step = within.width / frame.shape[1]
    # A2 with what is seen of the first period is heuristic, and left out
    unit = int(abs(fitted.matrices[0].sum(axis=0)).argmax()) if fitted.matrices else 0
    asked = [(attack, knowledge) for attack in ("A1", "A3", "A4") for knowledge in ("N1", "N2", "N3")] + [("A2", "N2")]
    price = {"epsilon": epsilon, "delta": delta, "sensitivity": step, "unit": unit, "constant": None}
    found = [
        fit_leakage(fitted, attack=attack, knowledge=knowledge, **price)  # type: ignore[arg-type]
        for attack, knowledge in asked
    ]
    terminal.say(CONFIDENTIAL)
    outside = int(((frame < within.low) | (frame > within.high)).to_numpy().sum())
    if outside:
        terminal.say(f"{outside} values are outside the bounds: what follows is for means of values moved into them.")
    terminal.show(
        f"{frame.shape[1]} units, {fitted.periods} periods, persistence {fitted.persistence:.3f} ({structure})"
    )
    sd = noise_sd(epsilon, delta, step)
    terminal.show(
        f"each mean: ε = {epsilon:g}, δ = {delta:g}, noise of sd {sd:.5g}; what two in a row tell of the unit that is "
        "easiest to learn, if the series moves as supposed (exact, at the same δ):"
    )
    for one in found:
        told = f"{LEARNT[one.attack]} {SEEN[one.knowledge]}"
        terminal.show(f"  {told:<38} ε' = {one.found:.4g}  ({one.attack} with {one.knowledge})")
    terminal.show(f"{releases} means for ε = {epsilon:g}, δ = {delta:g} together, whatever the series does:")
    table = plan(releases, epsilon=epsilon, delta=delta, sensitivity=step)
    for line in table.to_string(index=False, float_format=lambda number: f"{number:.5g}").splitlines():
        terminal.show(f"  {line}")
    if out is not None:
        _write(out, [vars(one) for one in found], table)


def _series(file: Path, column: list[str] | None) -> "pd.DataFrame":
    if column:
        import pandas as pd

        return pd.concat(read_columns(file, column), axis=1)
    from synthdp.table import io

    frame = io.read(file).select_dtypes("number")
    # years and months are numbers, too, but no unit
    counting = [name for name in frame.columns if len(frame) > 2 and frame[name].diff().dropna().nunique() == 1]
    counting = [name for name in counting if frame[name].nunique() > 1]
    if counting:
        terminal.say(
            f"{', '.join(map(str, counting))}: rises by the same step every period, so it is no unit; left out."
        )
    left = frame.drop(columns=counting)
    if left.shape[1] == 0:
        raise InputError(f"{file.name}: no column of numbers that could be a unit.")
    return left


def _write(out: Path, found: list[dict[str, object]], table: "pd.DataFrame") -> None:
    import json

    content = {"confidential": CONFIDENTIAL, "leakage": found, "plan": table.to_dict(orient="records")}
    terminal.write(out, f"{json.dumps(content, indent=1, ensure_ascii=False)}\n".encode())
