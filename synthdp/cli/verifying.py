"""The command ``synthdp verify-analysis``: a data user's request, answered from the confidential file under DP.

Only typer is imported here, so that ``--help`` answers at once.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from synthdp.cli import terminal
from synthdp.cli.command import command
from synthdp.cli.paying import open_ledger
from synthdp.cli.terminal import Cap, CapDelta, Log, Quiet, option
from synthdp.errors import InputError

if TYPE_CHECKING:
    from synthdp.privacy.ledger import Entry
    from synthdp.verification import Answer

ANSWER, REQUEST, CHARGE = "answer.json", "request.json", "charge.json"


@command(
    epilog="""\b
Examples:
  synthdp verify-analysis request.json --config survey.yaml --ledger survey.ledger --cap 3 --out answered
  synthdp verify-analysis request.json --config survey.yaml --ledger survey.ledger --out answered --check

\b
A request (what the copies said of one coefficient, and what it may cost to ask):
  {"model": "ols", "formula": "income ~ age + C(sex)", "epsilon": 0.5, "blocks": 25,
   "questions": [{"ask": "within", "term": "age", "estimate": 21.3, "margin": 4.0},
                 {"ask": "sign", "term": "C(sex)[T.M]", "sign": "positive"},
                 {"ask": "overlap", "term": "age", "low": 18.9, "high": 23.7, "above": 0.5}]}"""
)
def verify_analysis(
    request: Annotated[Path, typer.Argument(metavar="REQUEST", help="The data user's request (JSON).")],
    config: Annotated[Path, option("CONFIG", "The config of the confidential file, with levels and bounds declared.")],
    ledger: Annotated[Path, option("FILE", "The budget ledger of the file: every answer is charged.")],
    cap: Cap = None,
    cap_delta: CapDelta = 0.0,
    adjacency: Annotated[
        str, typer.Option(metavar="NAME", help="replace (the number of records is public) or add_remove.")
    ] = "replace",
    out: Annotated[Path | None, option("DIR", "An empty or new folder for request, answer and charge.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Only check request and budget; open no record.")] = False,
    quiet: Quiet = False,
    log: Log = None,
) -> None:
    """Answer a data user's question about an analysis under DP."""
    from synthdp.config import load
    from synthdp.privacy.guarantees import adjacency_of
    from synthdp.verification import read_request
    from synthdp.verification import verify_analysis as answer_request
    from synthdp.verification.answering import what_of
    from synthdp.verification.imagined import check as check_request

    asked = read_request(request)
    settings = load(config)
    check_request(asked, settings.variables)
    relation = adjacency_of(adjacency, "--adjacency")
    book = open_ledger(settings.data.path, ledger, cap, cap_delta, relation)
    book.check(what_of(asked), epsilon=asked.epsilon, adjacency=relation)
    if check:
        if not quiet:
            terminal.show(f"{request}: may be answered for epsilon {asked.epsilon:g}; nothing was charged.")
        return
    if out is None:
        raise InputError("--out: name a folder for request, answer and charge.")
    from synthdp.files import prepare_out
    from synthdp.stages.intake import Source

    with prepare_out(out, resume=False) as folder:
        source = Source.of(settings)
        found, entry = answer_request(asked, source.data, settings.variables, adjacency=relation, ledger=book)
        _write(folder, found, entry)
    if entry is not None:
        book.attach(entry, out / "public" / ANSWER)
    if not quiet:
        for line in found.lines():
            terminal.show(line)
        terminal.show(f"the data user's: {out / 'public'}")
        terminal.show(f"yours: {out / 'confidential' / CHARGE}")


def _write(folder: Path, found: "Answer", entry: "Entry | None") -> None:
    """Write what goes back to the data user, and beside it what stays."""
    import json
    from dataclasses import asdict

    public, confidential = folder / "public", folder / "confidential"
    for each in (public, confidential):
        each.mkdir()
    charged: dict[str, Any] = {} if entry is None else asdict(entry)
    _put(confidential / CHARGE, f"{json.dumps(charged, indent=1, ensure_ascii=False)}\n")
    _put(public / REQUEST, found.request.text())
    _put(public / ANSWER, found.text())


def _put(path: Path, text: str) -> None:
    terminal.write(path, text.encode(), "--out")
