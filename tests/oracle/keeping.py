"""Expectations on disk: checksums and exit codes to be read by people, everything else packed, every float exact."""

import gzip
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

EXPECTED = Path(__file__).parent / "expected"
TOLERANCE = 1e-10
# the samplers' chains are not the same to the last digit on every processor: 1.0035 on one is 1.0038 on another
CHAINS, WORDS, NEARLY = "/pymc_nuts/metrics/chain/", "/pymc_nuts/report/words/", 2e-3


def keep(name: str, found: dict[str, Any]) -> None:
    """Write what a case found."""
    EXPECTED.mkdir(exist_ok=True)
    (EXPECTED / f"{name}.json").write_text(json.dumps(_checksums(found), indent=1, ensure_ascii=False) + "\n")
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    (EXPECTED / f"{name}.json.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def kept(name: str) -> dict[str, Any]:
    """Return what a case found when it was recorded."""
    found: dict[str, Any] = json.loads(gzip.decompress((EXPECTED / f"{name}.json.gz").read_bytes()))
    return found


def _checksums(found: Any) -> Any:
    """Return the part of what was found that is checksums of public files, and exit codes."""
    if not isinstance(found, dict):
        return None
    parts = {
        name: value if name in ("public", "exit", "sha256") else _checksums(value) for name, value in found.items()
    }
    return {name: value for name, value in parts.items() if value not in (None, {})} or None


def differences(wanted: Any, found: Any, where: str = "") -> Iterator[str]:
    """Yield where two results differ: keys, text and whole numbers exactly, other numbers by more than 1e-10."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        for name in [*wanted, *(name for name in found if name not in wanted)]:
            if name not in found or name not in wanted:
                yield f"{where}/{name}: {'is new' if name in found else 'is gone'}"
            else:
                yield from differences(wanted[name], found[name], f"{where}/{name}")
    elif isinstance(wanted, list) and isinstance(found, list):
        if len(wanted) != len(found):
            yield f"{where}: {len(wanted)} entries became {len(found)}"
        for number, (before, now) in enumerate(zip(wanted, found, strict=False)):
            yield from differences(before, now, f"{where}/{number}")
    elif _close(wanted, found) or (_of_chains(where) and _near(wanted, found)):
        return
    else:
        yield f"{where}: {_shown(wanted, found)}"


def _of_chains(where: str) -> bool:
    return (where.startswith(CHAINS) and where.endswith("r_hat")) or where.startswith(WORDS)


def _near(wanted: Any, found: Any) -> bool:
    """Return whether two numbers, or words that are numbers around 1, are the same up to how a chain is rounded."""
    try:
        one, other = float(wanted), float(found)
    except ValueError:
        return False
    return 0.9 < one < 1.1 and abs(one - other) < NEARLY


def _close(wanted: Any, found: Any) -> bool:
    if type(wanted) is float or type(found) is float:
        numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (wanted, found))
        return numbers and math.isclose(wanted, found, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return type(wanted) is type(found) and bool(wanted == found)


def _shown(wanted: Any, found: Any) -> str:
    if isinstance(wanted, str) and isinstance(found, str) and max(len(wanted), len(found)) > 120:
        start = next((i for i, (a, b) in enumerate(zip(wanted, found, strict=False)) if a != b), 0)
        begin = max(0, start - 40)
        return f"…{wanted[begin : start + 80]!r} became …{found[begin : start + 80]!r}"
    return f"{wanted!r} became {found!r}"
