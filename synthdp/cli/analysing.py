"""The data user's command: fit a model to every copy of a release and combine the results.

Only typer is imported here, so that ``--help`` answers at once.
"""

from pathlib import Path
from typing import Annotated

import typer

from synthdp.cli import terminal
from synthdp.cli.command import command
from synthdp.cli.terminal import Log, ReleaseFolder
from synthdp.errors import InputError

EXAMPLES = """\b
Models that take a formula, 'y ~ age + C(region)':
  ols wls logit probit poisson negative_binomial multinomial ordered_logit ordered_probit
  gaussian binomial gamma inverse_gaussian tweedie (with --link), cox ('time ~ age', with --status)
Models that take columns, 'age, income':
  mean quantile correlation; of levels: proportion table count

\b
Examples:
  synthdp analyse results --model logit --formula "vote ~ age + C(region)"
  synthdp analyse public --model mean --formula "age, income"
  synthdp analyse public --model table --formula "sex, region" --out table.csv
  synthdp analyse public --model quantile --formula income --probabilities 0.1,0.5,0.9
  synthdp analyse public --model cox --formula "time ~ age + sex" --status died
  synthdp analyse public --model ols --formula "income ~ age" --weights w --strata s --cluster psu"""


def _column(what: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(metavar="COLUMN", help=what, show_default=False)
    return option


@command(epilog=EXAMPLES)
def analyse(
    folder: ReleaseFolder,
    model: Annotated[str, typer.Option(metavar="MODEL", help="The model; listed below.", show_default=False)],
    formula: Annotated[
        str,
        typer.Option(metavar="FORMULA", help="Its formula, or columns separated by commas.", show_default=False),
    ],
    rule: Annotated[
        str | None,
        typer.Option(
            metavar="RULE", help="Combining rule. [default: the one the release calls for]", show_default=False
        ),
    ] = None,
    level: Annotated[float, typer.Option(metavar="SHARE", help="Coverage of the intervals.")] = 0.95,
    weights: Annotated[str | None, _column("Survey weights; standard errors become robust.")] = None,
    strata: Annotated[str | None, _column("Strata of the sample.")] = None,
    cluster: Annotated[str | None, _column("Clusters (primary sampling units).")] = None,
    replicate_weights: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMNS", help="Replicate weights, instead of strata and cluster: 'rw*'.", show_default=False
        ),
    ] = None,
    replicate_method: Annotated[
        str | None, typer.Option(metavar="KIND", help="brr, jk1, jkn or bootstrap.", show_default=False)
    ] = None,
    replicate_scale: Annotated[
        str | None,
        typer.Option(metavar="NUMBERS", help="Factor of the squared deviations: one, or one each.", show_default=False),
    ] = None,
    status: Annotated[str | None, _column("For cox: 1 where the event was observed.")] = None,
    probabilities: Annotated[
        str | None,
        typer.Option(metavar="NUMBERS", help="Which quantiles. [default: 0.25,0.5,0.75]", show_default=False),
    ] = None,
    link: Annotated[
        str | None, typer.Option(metavar="LINK", help="Link of a generalised linear model.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the table as CSV.", show_default=False)
    ] = None,
    log: Log = None,
) -> None:
    """Fit a model to every copy and combine the results."""
    from synthdp.inference.analyses import analysis_of
    from synthdp.release.reading import open_copies, pool_opened

    analysis = analysis_of(
        {
            "name": model,
            "model": model,
            "formula": formula,
            "rule": rule,
            "weights": weights,
            "strata": strata,
            "cluster": cluster,
            "replicate_weights": replicate_weights,
            "replicate_method": replicate_method,
            "replicate_scale": _numbers(replicate_scale, "--replicate-scale"),
            "status": status,
            "probabilities": _numbers(probabilities, "--probabilities"),
            "link": link,
        },
        sign="--",
    )
    try:
        pooled = pool_opened(open_copies(folder), analysis, level=level, called="--formula")
    except InputError as error:
        raise InputError(*map(_placed, error.problems)) from None
    if out is not None:
        from synthdp.table import io

        if out.suffix.lower() != ".csv":
            raise InputError(f"--out {out}: must be a .csv file.")
        try:
            io.write(pooled.table(), out, format="csv")
        except OSError:
            raise InputError(f"--out {out}: the file cannot be written.") from None
    terminal.show(str(pooled))


def _placed(problem: str) -> str:
    """Return a problem at the option it belongs to, where that is not the formula."""
    text = problem.removeprefix("--formula: ")
    return f"--{text}" if text.startswith(("rule:", "level:")) else problem


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _numbers(text: str | None, option: str) -> list[float] | None:
    if text is None:
        return None
    try:
        return [float(part) for part in _listed(text)]
    except ValueError:
        raise InputError(f"{option}: must be numbers separated by commas.") from None
