"""The one object that owns ``metrics.json``: each stage adds its section, readers ask by name."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from synthdp.errors import InputError
from synthdp.evaluation.assessment import Assessment
from synthdp.files import CONFIDENTIAL, write_atomic
from synthdp.privacy.guarantees import Guarantee
from synthdp.table import io
from synthdp.table.io.streams import read_text

VERSION = 1
DOSSIER = "dossier.html"


class Metrics(Mapping[str, Any]):
    """What was measured, claimed and decided, section by section in the order in which stages add them.

    Examples
    --------
    >>> metrics = Metrics()
    >>> metrics.decided({"verdict": "passed", "passed": True, "reasons": [], "accepted": []})
    >>> metrics.passed, list(metrics)
    (True, ['version', 'gate'])
    """

    def __init__(self) -> None:
        self._sections: dict[str, Any] = {"version": VERSION}

    def __getitem__(self, section: str) -> Any:
        return self._sections[section]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sections)

    def __len__(self) -> int:
        return len(self._sections)

    def __repr__(self) -> str:
        return f"Metrics({', '.join(self)})"

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return the metrics that a run left.

        Raises
        ------
        InputError
            When the file is damaged.
        """
        found = cls()
        try:
            found._sections = dict(json.loads(read_text(path)))
            # what resuming needs of it
            found.gate["passed"], found.privacy, found.timings
        except (OSError, ValueError, RecursionError, KeyError, TypeError):
            raise InputError(f"{path}: the file is damaged; restore it, or start again with another --out.") from None
        return found

    def write(self, path: Path) -> None:
        """Write ``metrics.json``, whole or not at all."""
        write_atomic(path, json_text(self).encode())

    def measured(self, found: Assessment, **further: Any) -> None:
        """Add how useful and how risky the copies are, and ``further`` sections of their risk."""
        self._sections["utility"] = found.utility
        self._sections["risk"] = {**found.risk, **further}

    def claimed(
        self,
        guarantee: Guarantee | None = None,
        masking: Sequence[Mapping[str, object]] = (),
        cautions: Sequence[str] = (),
    ) -> None:
        """Add what may be claimed formally: of the whole release, and of each column's mask."""
        claim: Mapping[str, Any] = guarantee.section() if guarantee is not None else {"epsilon": None}
        told = {"cautions": list(cautions)} if cautions else {}
        self._sections["privacy"] = {**claim, "masking": list(masking), **told}

    def decided(self, gate: Mapping[str, Any]) -> None:
        """Add the verdict of the gate, on what grounds, what would help, and which attempt this was."""
        self._sections["gate"] = dict(gate)

    def leaked(self, sentences: Sequence[str], attempt: Mapping[str, Any]) -> None:
        """Turn the verdict: the scan found a leak in the files themselves."""
        reasons = [*self.gate["reasons"], *sentences]
        self._sections["gate"] |= {"verdict": "refused", "passed": False, "reasons": reasons, **attempt}

    def timed(self, seconds: Mapping[str, float]) -> None:
        """Add how long each stage took."""
        self._sections["timings"] = dict(seconds)

    def chained(self, chain: Sequence[Mapping[str, object]]) -> None:
        """Add whether the chains behind the copies moved and settled."""
        self._sections["chain"] = list(chain)

    def cautioned(self, sentences: Sequence[str]) -> None:
        """Add what was doubtful about files that somebody else made."""
        self._sections["cautions"] = list(sentences)

    @property
    def risk(self) -> Mapping[str, Any]:
        """How risky the copies are, by attack."""
        return self._section("risk")

    @property
    def privacy(self) -> Mapping[str, Any]:
        """What is claimed formally."""
        return self._section("privacy")

    @property
    def gate(self) -> Mapping[str, Any]:
        """The verdict and its grounds."""
        return self._section("gate")

    @property
    def timings(self) -> Mapping[str, float]:
        """Seconds by stage."""
        return self._section("timings")

    @property
    def passed(self) -> bool:
        """Whether the gate let the release pass."""
        return bool(self.gate["passed"])

    @property
    def private(self) -> bool:
        """Whether an ε is claimed for the whole release."""
        return self.privacy.get("epsilon") is not None

    @property
    def masking(self) -> Sequence[Mapping[str, Any]]:
        """What may be said of each column's mask, one entry per column and group."""
        masking: Sequence[Mapping[str, Any]] = self.privacy["masking"]
        return masking

    @property
    def original_risk(self) -> Mapping[str, Any]:
        """What the same attack finds in the original itself; empty where it was not asked."""
        return self.risk.get("original", {})  # type: ignore[no-any-return]

    @property
    def cautions(self) -> tuple[str, ...]:
        """What is doubtful: about files that somebody else made, or about how much of a release is noise."""
        return tuple(map(str, self.get("cautions", self.privacy.get("cautions", ()))))

    def signed(self) -> dict[str, Any]:
        """Return what goes on record beside the signature: accepted risks, earlier releases, and the claim."""
        return {
            "accepted": self.gate["accepted"],
            "earlier_releases": self.risk.get("releases", {}).get("earlier", []),
            "privacy": {key: value for key, value in self.privacy.items() if key != "masking"},
        }

    def _section(self, name: str) -> Mapping[str, Any]:
        section: Mapping[str, Any] = self._sections[name]
        return section


def write_confidential(
    out: Path,
    *,
    metrics: Mapping[str, Any],
    report: str,
    dossier: str | None = None,
    records_at_risk: pd.DataFrame,
    rows: Mapping[str, npt.NDArray[np.int64]] | None = None,
) -> Path:
    """Write what the data holder needs to judge the release; return the report's path.

    Parameters
    ----------
    out
        The folder of the run, held by `prepare_out`.
    metrics
        The contents of ``metrics.json``.
    report
        The page.
    dossier
        The pages for those who sign.
    records_at_risk
        The records that are most exposed.
    rows
        For each synthetic file the permutation given to `publish`: released row j was made from record ``rows[j]``,
        counted from 0.
    """
    folder = out / CONFIDENTIAL
    folder.mkdir(mode=0o700, exist_ok=True)
    if rows is not None:
        table = pd.DataFrame({Path(name).stem: order for name, order in rows.items()})
        write_atomic(folder / "rows.parquet", io.encode(table, format="parquet"))
    write_atomic(folder / "metrics.json", json_text(metrics).encode())
    write_atomic(folder / "records_at_risk.csv", io.encode(records_at_risk, format="csv"))
    if dossier is not None:
        write_atomic(folder / DOSSIER, dossier.encode())
    write_atomic(folder / "report.html", report.encode())
    return folder / "report.html"


def json_text(value: object) -> str:
    """Return a value as JSON text; numpy numbers become plain ones, NaN and infinity become null."""
    return json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Path):
        return str(value)
    return value
