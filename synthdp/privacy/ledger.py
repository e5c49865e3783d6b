"""The budget ledger of one data set: every DP release is charged before its noise is drawn, and refused over the cap.

Because the charge comes first, a release that dies half way has paid; nothing is released unpaid. Two processes cannot
spend the same budget, and after ``kill -9`` the ledger is whole (``keeping``). Whoever deletes the file deletes the
memory: keep it with the data.

Rules of adding up are those that stay true when later releases are chosen after seeing earlier ones: ``basic`` (ε and δ
add) and ``concentrated`` (ρ of zCDP adds, and is turned into ε at the cap's δ).

References
----------
Rogers, Roth, Ullman, Vadhan (2016), "Privacy odometers and filters", NeurIPS (basic composition, adaptive budgets).
Whitehouse, Ramdas, Rogers, Wu (2023), "Fully-adaptive composition in differential privacy", ICML (zCDP filter).
"""

import hashlib
import math
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from synthdp.errors import InputError
from synthdp.files import KeptFile
from synthdp.privacy import events
from synthdp.privacy.accounting import accountants
from synthdp.privacy.accounting.closed_forms import epsilon_of_rho
from synthdp.privacy.guarantees import Adjacency, adjacency_of, epsilon_of, slack_of
from synthdp.table.io.streams import open_file

Rule = Literal["basic", "concentrated"]
ROUNDING = 1e-12
"""Ten charges of a tenth may fill a budget of 1; more than this relative excess is over it."""


@dataclass(frozen=True)
class Entry:
    """One charge: what was released, what it cost, when, from which noise, the hash of the file it went into.

    ``run`` is the id of the run of the pipeline that paid, so that it need not pay again when it is resumed.
    """

    number: int
    what: str
    epsilon: float
    delta: float
    rho: float | None
    source: str
    when: str
    file: str | None = None
    run: str | None = None


@dataclass(frozen=True)
class Account:
    """What the ledger says: cap, rule and charges.

    Examples
    --------
    >>> Account("0f1e", "replace", 1.0, 0.0, "basic").left()
    (1.0, 0.0)
    """

    data: str
    adjacency: Adjacency
    epsilon: float
    delta: float
    rule: Rule
    entries: tuple[Entry, ...] = ()

    def spent(self) -> tuple[float, float]:
        """Return what all charges prove together, (ε, δ)."""
        if not self.entries:
            return 0.0, 0.0
        if self.rule == "basic":
            return math.fsum(e.epsilon for e in self.entries), math.fsum(e.delta for e in self.entries)
        rho = math.fsum(entry.rho or 0.0 for entry in self.entries)
        return epsilon_of_rho(rho, self.delta, method="tight"), self.delta

    def left(self) -> tuple[float, float]:
        """Return how far (ε, δ) is from the cap; under ``basic`` this is what may still be spent."""
        epsilon, delta = self.spent()
        return max(0.0, self.epsilon - epsilon), max(0.0, self.delta - delta)

    def over_cap(self) -> bool:
        """Return whether the charges are more than the cap allows."""
        epsilon, delta = self.spent()
        return epsilon > self.epsilon * (1 + ROUNDING) or delta > self.delta * (1 + ROUNDING)


def fingerprint(path: Path) -> str:
    """Return the SHA-256 of a file: a ledger belongs to exactly these bytes."""
    digest = hashlib.sha256()
    with open_file(path) as file:
        while block := file.read(2**20):
            digest.update(block)
    return digest.hexdigest()


class Ledger:
    """The ledger file of one data set.

    Parameters
    ----------
    path
        Where the ledger is.
    data
        Fingerprint of the data set; a ledger of another data set is refused.
    patience
        Seconds to wait while another process holds the ledger.
    """

    def __init__(self, path: Path, data: str, *, patience: float = 10.0) -> None:
        self._file, self._data = KeptFile(path, "ledger", patience=patience), data
        self._name = path.name

    def __repr__(self) -> str:
        return f"Ledger({self._name})"

    def create(
        self, *, epsilon: float, delta: float = 0.0, adjacency: Adjacency = "replace", rule: Rule = "basic"
    ) -> Account:
        """Write an empty ledger with its cap; an existing one is kept and must have the same terms."""
        if rule == "concentrated" and delta <= 0:
            raise InputError("ledger: the concentrated rule needs a delta above 0 in the cap.")
        wanted = Account(self._data, adjacency_of(adjacency), epsilon_of(epsilon), slack_of(delta), rule)
        with self._file.held():
            if self._file.path.exists():
                found = self.account()
                if replace(found, entries=()) != wanted:
                    raise InputError(
                        f"{self._name}: the ledger has other terms (cap, adjacency or rule), which are set once."
                    )
                return found
            self._file.write(asdict(wanted))
        return wanted

    def account(self) -> Account:
        """Return what the ledger says now."""
        content = self._file.read()
        try:
            entries = tuple(Entry(**entry) for entry in content["entries"])
            found = Account(**{**content, "entries": entries})
        except (KeyError, TypeError) as error:
            raise self._file.damaged() from error
        if found.data != self._data:
            raise InputError(f"{self._name}: this ledger belongs to another data set; use the ledger of these data.")
        return found

    def charge(
        self,
        what: str,
        *,
        epsilon: float,
        delta: float = 0.0,
        rho: float | None = None,
        adjacency: Adjacency,
        source: str = "secure",
        run: str | None = None,
        released: Path | None = None,
    ) -> Entry:
        """Record a release before its noise is drawn; refuse it when the cap would be passed.

        Parameters
        ----------
        what
            What is released, in words; no value of the data.
        epsilon, delta
            Its guarantee.
        rho
            Its guarantee in zCDP, for the concentrated rule (ε²/2 is used when δ = 0).
        adjacency
            What neighbouring means in that guarantee; must be the ledger's.
        source
            Name of the noise source; written down.
        run, released
            Id of the run that pays, and what it has released already. A run that was killed after it had paid finds
            its charge when it goes on, unless another file has gone out under it.
        """
        with self._file.held():
            before = self.account()
            out = {None, None if released is None else fingerprint(released)}
            paid = [entry for entry in before.entries if run is not None and entry.run == run and entry.file in out]
            if paid and (paid[-1].epsilon, paid[-1].delta) == (epsilon, delta):
                return paid[-1]
            after = self._charged(before, what, epsilon, delta, rho, adjacency, source, run)
            self._file.write(asdict(after))
        return after.entries[-1]

    def check(
        self, what: str, *, epsilon: float, delta: float = 0.0, rho: float | None = None, adjacency: Adjacency
    ) -> None:
        """Refuse what `charge` would refuse now; record nothing."""
        self._charged(self.account(), what, epsilon, delta, rho, adjacency, "", None)

    def _charged(
        self,
        before: Account,
        what: str,
        epsilon: float,
        delta: float,
        rho: float | None,
        adjacency: Adjacency,
        source: str,
        run: str | None,
    ) -> Account:
        epsilon, delta = epsilon_of(epsilon), slack_of(delta)
        if adjacency != before.adjacency:
            raise InputError(
                f"{self._name}: the ledger counts under {before.adjacency}, the release under {adjacency}; "
                "use the ledger's."
            )
        if before.rule == "concentrated" and rho is None:
            if delta:
                raise InputError(f"{self._name}: the concentrated rule needs the rho of a release with a delta.")
            rho = epsilon**2 / 2
        when = datetime.now(UTC).isoformat(timespec="seconds")
        entry = Entry(len(before.entries) + 1, what, epsilon, delta, rho, source, when, run=run)
        after = replace(before, entries=(*before.entries, entry))
        if after.over_cap():
            raise InputError(self._refusal(before, after))
        return after

    def charge_event(
        self, what: str, event: events.Event, *, delta: float = 0.0, adjacency: Adjacency, source: str = "secure"
    ) -> Entry:
        """Charge what a mechanism's event costs at δ; what is not private cannot be charged."""
        if isinstance(event, events.NonPrivate):
            raise InputError(f"{what}: cannot be charged to a ledger: {event.reason}.")
        cost = accountants.cost(event, delta)
        if math.isinf(cost.epsilon):
            raise InputError(f"{what}: has no finite epsilon at delta {delta:g}; give a larger delta.")
        rho = accountants.rho(event)
        return self.charge(what, epsilon=cost.epsilon, delta=delta, rho=rho, adjacency=adjacency, source=source)

    def attach(self, entry: Entry, file: Path) -> Entry:
        """Write the hash of the released file into its charge."""
        done = replace(entry, file=fingerprint(file))
        with self._file.held():
            found = self.account()
            known = {each.number: each for each in found.entries}
            if known.get(entry.number) != entry:
                raise InputError(f"{self._name}: charge {entry.number} is not in the ledger.")
            entries = tuple(done if each == entry else each for each in found.entries)
            self._file.write(asdict(replace(found, entries=entries)))
        return done

    def _refusal(self, before: Account, after: Account) -> str:
        (epsilon, delta), left = after.spent(), before.left()
        return (
            f"{self._name}: the release would bring the total to ({epsilon:.4g}, {delta:.3g}), over the cap of "
            f"({after.epsilon:.4g}, {after.delta:.3g}); ({left[0]:.4g}, {left[1]:.3g}) is left. Nothing was released."
        )
