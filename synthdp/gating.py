"""The gate's decision on a run: this release, all releases of the same data, what was accepted, what would help."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from synthdp.config import Config
from synthdp.evaluation.assessment import Assessment
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.gate import Check, Verdict
from synthdp.masking.protocol import MaskSettings
from synthdp.release.register import NAME, Register

# a mask wider than this many standard deviations says next to nothing: more of it cannot help
WIDE = 3.0
STEP = (1.25, 3.0)
NONE = "none"
VARIABLE = "SYNTHDP_REGISTER"


@dataclass(frozen=True, repr=False)
class Decision:
    """The verdict, the risk of all releases together (None when this is the first), and what would help."""

    verdict: Verdict
    together: Mapping[str, Any] | None
    advice: tuple[str, ...]

    def section(self) -> dict[str, Any]:
        """Return the ``gate`` section of metrics.json."""
        return self.verdict.section() | {"advice": list(self.advice)}


def register_of(config: Config, out: Path) -> tuple[Register | None, tuple[str, ...]]:
    """Return the register of releases, and what a person should know of where it is.

    The config says where, else the environment variable ``SYNTHDP_REGISTER`` (one place for a whole agency). Without
    either it lies beside the data; where nothing may be written there, beside the folder of the run.
    """
    chosen = config.release.recorded_in or os.environ.get(VARIABLE)
    if chosen is not None:
        return (None if chosen == NONE else Register(Path(chosen))), ()
    home = config.data.path.resolve().parent
    if os.access(home, os.W_OK):
        return Register(home / NAME), ()
    beside = out.resolve().parent / NAME
    caution = (
        "Nothing may be written beside the data, so this release is recorded beside the folder of the run: a release "
        "made elsewhere is not judged together with it. Name one place for all by release.recorded_in."
    )
    return Register(beside), (caution,)


def decide(
    config: Config,
    comparison: Comparison,
    found: Assessment,
    *,
    register: Register | None,
    data: Any,
    accepted: Mapping[str, str],
    assess: Callable[[Config, Comparison], Assessment],
) -> Decision:
    """Judge a release alone and together with the earlier ones of the same data.

    Parameters
    ----------
    found
        The measures of this release alone.
    data
        The original records with every released column.
    accepted
        Risks that whoever signs takes, by name, with the reason.
    assess
        Takes the measures of a comparison.
    """
    verdict, together = found.verdict, None
    earlier = register.earlier(data, comparison.copies) if register is not None else ()
    if earlier:
        everything = (*(copy for before in earlier for copy in before.copies), *comparison.copies)
        blind = config.model_copy(update={"evaluation": config.evaluation.model_copy(update={"utility": ()})})
        joint = assess(blind, replace(comparison, copies=everything))
        verdict = verdict.beside(joint.verdict, len(earlier))
        released = [before.when for before in earlier]
        together = {"earlier": released, "copies": len(everything), **joint.risk}
    verdict = verdict.accepting(accepted)
    return Decision(verdict, together, tuple(dict.fromkeys(_advice(config, verdict, found.risk, len(earlier)))))


def _advice(config: Config, verdict: Verdict, risk: Mapping[str, Any], earlier: int) -> list[str]:
    """Return what would bring the refused risks under their limits, as far as the numbers tell."""
    found = []
    refused = [check for check in verdict.checks if not check.passed and check.accepted is None]
    alone = {(check.name, check.attack) for check in refused if not check.releases}
    for check in refused:
        if check.releases and (check.name, check.attack) not in alone:
            found.append(
                "Alone this release would pass this check: earlier releases of the same data have used up what may be "
                "told. Give out the earlier release again, or mask much more."
            )
        elif not check.releases and check.value is not None:
            found += _for_check(config, check, risk.get(check.attack))
    return found


def _for_check(config: Config, check: Check, section: Any) -> list[str]:
    lines = section.get("per_group") if isinstance(section, Mapping) else None
    if not lines:
        return []
    # attacks without a tolerance call their expected matches links
    expected = "expected_links" if "expected_links" in lines[0] else "expected_match"
    counted = "true_match" if check.name == "max_excess_true_match" else expected
    what = {"true_match": "true matches", "expected_match": "expected matches", "expected_links": "expected links"}
    worst = max(lines, key=lambda line: line.get(counted) or 0)
    total = sum(line.get(counted) or 0 for line in lines)
    if not total:
        return []
    group = str(worst["group"])
    place = f"{worst[counted]:.3g} of {total:.3g} {what[counted]} ({check.attack}) are in group {group}"
    masks = {
        name: mask
        for name, mask in {**config.masks, **config.masks_by_group.get(group, {})}.items()
        if name in config.variables and config.variables[name].key
    }
    if not masks or not hasattr(config.synthesis, "mask_draw"):
        return [f"{place}: method {config.synthesis.method} masks nothing; da_mi with a wide mask does."]
    ratio = float(check.value or 0) / check.limit if check.limit else float(worst[counted])
    changes = [text for name, mask in masks.items() if (text := _wider(name, mask, ratio, len(masks)))]
    if not changes:
        return [f"{place}, and its masks are wide already: keep fewer columns exact, or release fewer copies."]
    return [f"{place}: {', '.join(changes)} (masks_by_group.{group})."]


def _wider(name: str, mask: MaskSettings, ratio: float, columns: int) -> str | None:
    """Return the change of one mask: candidates grow with the product of the widths, so each takes its root."""
    factor = min(max(ratio ** (1 / columns), STEP[0]), STEP[1])
    sd, scale = getattr(mask, "sd", None), getattr(mask, "scale", None)
    alpha, keep = getattr(mask, "alpha", None), getattr(mask, "keep", None)
    if sd is not None:
        return None if sd >= WIDE else f"raise the sd of {name} from {sd:g} to {min(sd * factor, WIDE):.2g}"
    if scale is not None:
        return f"raise the scale of {name} from {scale:g} to {scale * factor:.3g}"
    if alpha:
        return f"lower the alpha of {name} from {alpha:g} to {alpha / factor:.2g}"
    if keep is not None:
        return f"lower keep of {name} from {keep:g} to {keep / factor:.2g}"
    return None
