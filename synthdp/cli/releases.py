"""Commands on a finished release: its owner signs it, its users verify it and analyse the copies.

Only typer is imported here, so that ``--help`` answers at once.
"""

from pathlib import Path
from typing import Annotated

import typer

from synthdp.cli import terminal
from synthdp.cli.command import command
from synthdp.cli.terminal import Log, Quiet, ReleaseFolder, numbers, option
from synthdp.errors import InputError


@command(
    epilog="""\b
Examples:
  synthdp verify results
  synthdp verify results/public
  synthdp verify results --key agency.pub.pem            who signed it?"""
)
def verify(
    folder: ReleaseFolder,
    key: Annotated[Path | None, option("FILE", "The signer's public key (PEM): check SHA256SUMS.sig too.")] = None,
    quiet: Quiet = False,
    log: Log = None,
) -> None:
    """Check that a release is complete and unchanged."""
    from synthdp import release

    problems = release.verify(folder, key=key)
    if problems:
        raise InputError(*problems)
    if not quiet:
        terminal.show(f"{folder}: complete and unchanged.")
        for line in (*release.standing(folder, key=key), *release.signed(folder)):
            terminal.show(line)


@command(
    epilog="""\b
Examples:
  synthdp sign --new-key agency.pem                       makes agency.pem (keep it) and agency.pub.pem (give it out)
  synthdp sign results --key agency.pem                   writes results/public/SHA256SUMS.sig
  synthdp verify results --key agency.pub.pem             what a data user does"""
)
def sign(
    folder: Annotated[
        Path | None, typer.Argument(metavar="[DIR]", help="public/, or the folder that holds it.")
    ] = None,
    key: Annotated[Path | None, option("FILE", "The private key (PEM), readable by its owner only.")] = None,
    new_key: Annotated[Path | None, option("FILE", "Make a pair of keys instead, the private one in FILE.")] = None,
    quiet: Quiet = False,
    log: Log = None,
) -> None:
    """Sign a release: nobody else can replace its checksums."""
    from synthdp import release

    if new_key is not None:
        if folder is not None or key is not None:
            raise InputError("sign: --new-key takes no other arguments; sign with the key afterwards.")
        private, public = release.new_key(new_key)
        made = f"{private}: the private key; keep it safe, away from releases. {public}: give this one to data users."
    elif folder is None or key is None:
        raise InputError("sign: needs the folder of a release and --key FILE, or --new-key FILE.")
    else:
        made = f"{release.sign(folder, key)}: signed."
    if not quiet:
        terminal.show(made)


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


@command(epilog=EXAMPLES)
def analyse(
    folder: ReleaseFolder,
    model: Annotated[str, option("MODEL", "The model; listed below.")],
    formula: Annotated[str, option("FORMULA", "Its formula, or columns separated by commas.")],
    rule: Annotated[str | None, option("RULE", "Combining rule. [default: the one the release calls for]")] = None,
    level: Annotated[float, typer.Option(metavar="SHARE", help="Coverage of the intervals.")] = 0.95,
    weights: Annotated[str | None, option("COLUMN", "Survey weights; standard errors become robust.")] = None,
    strata: Annotated[str | None, option("COLUMN", "Strata of the sample.")] = None,
    cluster: Annotated[str | None, option("COLUMN", "Clusters (primary sampling units).")] = None,
    replicate_weights: Annotated[
        str | None, option("COLUMNS", "Replicate weights, instead of strata and cluster: 'rw*'.")
    ] = None,
    replicate_method: Annotated[str | None, option("KIND", "brr, jk1, jkn or bootstrap.")] = None,
    replicate_scale: Annotated[
        str | None, option("NUMBERS", "Factor of the squared deviations: one, or one each.")
    ] = None,
    status: Annotated[str | None, option("COLUMN", "For cox: 1 where the event was observed.")] = None,
    probabilities: Annotated[str | None, option("NUMBERS", "Which quantiles. [default: 0.25,0.5,0.75]")] = None,
    link: Annotated[str | None, option("LINK", "Link of a generalised linear model.")] = None,
    out: Annotated[Path | None, option("FILE", "Also write the table as CSV.")] = None,
    log: Log = None,
) -> None:
    """Fit a model to every copy and combine the results."""
    from synthdp.inference.analyses import analysis_of
    from synthdp.release.reading import open_copies, pool_opened

    asked = {
        "formula": formula,
        "rule": rule,
        "weights": weights,
        "strata": strata,
        "cluster": cluster,
        "replicate_weights": replicate_weights,
        "replicate_method": replicate_method,
        "replicate_scale": numbers(replicate_scale, "--replicate-scale"),
        "status": status,
        "probabilities": numbers(probabilities, "--probabilities"),
        "link": link,
    }
    analysis = analysis_of({"name": model, "model": model, **asked}, sign="--")
    try:
        pooled = pool_opened(open_copies(folder), analysis, level=level, called="--formula")
    except InputError as error:
        raise InputError(*map(_placed, error.problems)) from None
    if out is not None:
        from synthdp.table import io

        terminal.check_ending(out, ".csv")
        terminal.write(out, io.encode(pooled.table(), format="csv"))
    terminal.show(str(pooled))


def _placed(problem: str) -> str:
    """Return a problem at the option it belongs to, where that is not the formula."""
    text = problem.removeprefix("--formula: ")
    return f"--{text}" if text.startswith(("rule:", "level:")) else problem
