"""Paying for what ``synthdp dp`` releases, and showing it: the ledger, the sentences, the file."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synthdp.cli import terminal
from synthdp.errors import InputError

if TYPE_CHECKING:
    from synthdp.dp import Clusters, Coefficients, Density, Released, ReleasedTable
    from synthdp.privacy.ledger import Account, Entry, Ledger

    Result = Released | ReleasedTable | Clusters | Coefficients | Density

UNCHARGED = "not charged to any ledger; --ledger FILE keeps track of what was spent."


class Payment:
    """The ledger of these data, and the charge that was made."""

    def __init__(self, ledger: "Ledger") -> None:
        self._ledger = ledger
        self.entry: Entry | None = None

    def charge(self, what: str, **price: Any) -> "Entry":
        """Charge the ledger, and remember the charge."""
        self.entry = self._ledger.charge(what, **price)
        return self.entry

    def attach(self, file: Path) -> None:
        """Write the hash of the released file beside its charge."""
        if self.entry is not None:
            self._ledger.attach(self.entry, file)


def account_lines(account: "Account") -> list[str]:
    """Return the charges, what was spent and what is left."""
    (epsilon, delta), (left, left_delta) = account.spent(), account.left()
    lines = [
        f"{entry.number:>4}  {entry.when}  ε {entry.epsilon:g}, δ {entry.delta:g}  {entry.what}"
        f"{'' if entry.source == 'secure' else f' ({entry.source})'}"
        for entry in account.entries
    ]
    return [
        *lines,
        f"spent: ε {epsilon:g}, δ {delta:g} of ε {account.epsilon:g}, δ {account.delta:g} ({account.adjacency})",
        f"left:  ε {left:g}, δ {left_delta:g}",
    ]


def conclude(
    release: Callable[..., "Result"],
    file: Path,
    adjacency: str,
    ledger: Path | None,
    cap: float | None,
    cap_delta: float,
    out: Path | None,
) -> None:
    """Make the release, show it, and say to the curator alone what it must not say."""
    terminal.check_ending(out, ".json")
    book = ledger_of(file, ledger, cap, cap_delta, adjacency)
    payment = None if book is None else Payment(book)
    result = release(adjacency=adjacency, ledger=payment)
    terminal.show(result.text() if result.without_interval else repr(result))
    for line in result.confidential:
        terminal.say(f"confidential, not covered by ε: {line}.")
    if payment is None and result.epsilon is not None:
        terminal.say(UNCHARGED)
    if out is not None:
        _write(result, out)
        if payment is not None:
            payment.attach(out)


def _write(result: "Result", out: Path) -> None:
    import json

    interval = {"no_interval": result.without_interval} if result.without_interval else {"level": result.level}
    terms = result.table().reset_index()
    for name in ("noise_sd", "sampling_sd"):
        if name not in terms and (sd := getattr(result, name, None)) is not None:
            terms[name] = sd
    content = {
        "statistic": result.statistic,
        "terms": terms.to_dict(orient="records"),
        **interval,
        "epsilon": result.epsilon,
        "delta": result.delta,
        "adjacency": result.adjacency,
        "guarantee": result.guarantee(),
        "notes": list(result.notes),
    }
    terminal.write(out, f"{json.dumps(content, indent=1, ensure_ascii=False)}\n".encode())


def ledger_of(file: Path, ledger: Path | None, cap: float | None, cap_delta: float, adjacency: str) -> "Ledger | None":
    """Return the ledger that was asked for, if one was."""
    if ledger is not None:
        return open_ledger(file, ledger, cap, cap_delta, adjacency)
    if cap is not None:
        raise InputError("--cap: belongs to a ledger; add --ledger FILE.")
    return None


def open_ledger(file: Path, path: Path, cap: float | None, cap_delta: float, adjacency: str) -> "Ledger":
    """Return the ledger of a file, started where a cap is given."""
    from synthdp.privacy.guarantees import adjacency_of
    from synthdp.privacy.ledger import Ledger, fingerprint

    try:
        book = Ledger(path, fingerprint(file))
    except OSError:
        raise InputError(f"{file}: the file cannot be read.") from None
    if cap is not None:
        book.create(epsilon=cap, delta=cap_delta, adjacency=adjacency_of(adjacency))
    book.account()
    return book
