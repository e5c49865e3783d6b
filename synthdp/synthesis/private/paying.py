"""What a run owes the budget ledger of its data: all copies together, before any noise is drawn, and once."""

from pathlib import Path
from typing import Any

from synthdp.errors import InputError
from synthdp.privacy.ledger import Entry, Ledger
from synthdp.synthesis.private.settings import Private
from synthdp.synthesis.protocol import Plan, Synthesizer


class Bill:
    """The price of one run, and the ledger that is charged.

    Copies are drawn from one private table, so that their number does not matter. A study publishes nothing and owes
    nothing.

    Parameters
    ----------
    ledger
        The ledger of the data; None when there is none.
    method, plan
        What will be done. With a ledger, what has no guarantee is refused: it would void every charge in it.
    study
        Whether nothing will be published.

    Raises
    ------
    InputError
        When the method is not differentially private, or when its claim would be withdrawn.
    """

    def __init__(self, ledger: Ledger | None, method: Synthesizer, plan: Plan, *, study: bool) -> None:
        self._ledger = None if study else ledger
        self._entry: Entry | None = None
        self._price: dict[str, Any] = {}
        if self._ledger is not None:
            self._price = _price(method, plan)

    def check(self) -> None:
        """Refuse what cannot be paid, before anything is written."""
        if self._ledger is not None:
            self._ledger.check(**{key: value for key, value in self._price.items() if key != "source"})

    @property
    def number(self) -> int | None:
        """The number of the charge; None where nothing was charged."""
        return self._entry.number if self._entry is not None else None

    def pay(self, run: str, *, released: Path | None = None) -> None:
        """Charge the ledger; a run that paid before it was killed does not pay again for what it ``released``."""
        if self._ledger is not None:
            self._entry = self._ledger.charge(**self._price, run=run, released=released)

    def attach(self, file: Path) -> None:
        """Write the hash of what was published beside its charge."""
        if self._ledger is not None and self._entry is not None:
            self._entry = self._ledger.attach(self._entry, file)


def _price(method: Synthesizer, plan: Plan) -> dict[str, Any]:
    if not isinstance(method, Private):
        name = getattr(method, "method", type(method).__name__)
        raise InputError(
            f"ledger: method {name} is not differentially private, so its release has no price; leave the ledger out."
        )
    if plan.selection is not None:
        raise InputError(
            f"ledger: {method.method} cannot be charged, as {plan.selection}, which no epsilon covers. "
            "Set all limits of release to null, or leave the ledger out."
        )
    return {
        "what": f"synthetic data by {method.method}",
        "epsilon": method.epsilon,
        "delta": method.delta,
        "adjacency": method.adjacency,
        "source": method.source,
    }
