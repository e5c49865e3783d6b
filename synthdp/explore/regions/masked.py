"""Which masked columns of a config have a formal bound, and why the others have none."""

from dataclasses import dataclass
from typing import Any

from synthdp.config import Config
from synthdp.privacy import events
from synthdp.stages.intake import prepare, read
from synthdp.stages.planning import plan_of
from synthdp.synthesis.maskings.masking import Masking
from synthdp.synthesis.nesting import draws_of, withdrawn
from synthdp.synthesis.sampler import Imputing, links_of
from synthdp.synthesis.sampler import masks_of as masks_of_plan

NOTHING_MASKED = "The config masks nothing, so no column has a bound of its own."


@dataclass(frozen=True)
class Masks:
    """Masks with a bound as the page offers them, and sentences on those without."""

    bounded: tuple[dict[str, Any], ...] = ()
    unbounded: tuple[str, ...] = ()

    def told(self) -> dict[str, Any]:
        """Return both as the page reads them."""
        return {"masks": list(self.bounded), "unbounded": list(self.unbounded)}


def masks_of(config: Config) -> Masks:
    """Return the masks of a config; a bound that is withdrawn for the release is no bound here either."""
    method = config.synthesis
    if isinstance(method, Masking):
        return Masks(
            unbounded=(f"{method.method} is a masking for which nothing formal is claimed: no column has a bound.",)
        )
    masked = config.masks or config.masks_by_group
    if not masked or method.mask_drawn is None or not isinstance(method, Imputing):
        return Masks(unbounded=(NOTHING_MASKED,))
    table = read(config)
    plan = plan_of(config, prepare(table.frame, config, unread=table.unread))
    draws, why = draws_of(method, method.mask_drawn), withdrawn(plan, method, method.mask_drawn)
    bounded: list[dict[str, Any]] = []
    unbounded: list[str] = []
    for column, mask in masks_of_plan(plan, links_of(plan.data, method.model)).items():
        for part, event in zip(mask.parts, mask.events(draws, why), strict=True):
            name = column if len(mask.parts) == 1 else f"{column}, group {part.group}"
            region = _region(event)
            if region is None:
                unbounded.append(f"{name}: {event.statement()}")
            else:
                bounded.append({"name": f"mask of {name}", "about": event.statement(), **region})
    return Masks(tuple(bounded), tuple(unbounded))


def _region(event: events.MaskEvent) -> dict[str, Any] | None:
    match event:
        case events.Gaussian(mu) if mu > 0:
            return {"kind": "maskgdp", "values": {"mu": float(mu)}}
        case events.Pure(epsilon):
            return {"kind": "maskdp", "values": {"epsilon": float(epsilon)}}
    return None
