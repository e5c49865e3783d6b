"""Draws of the mechanism: the copies made again and again from streams of their own, for the gate and its intruders."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from synthdp.config import Config
from synthdp.evaluation.comparison import Comparison
from synthdp.schema import Schema
from synthdp.seeding import Streams
from synthdp.synthesis.imputed import Imputed
from synthdp.synthesis.making import finish, make
from synthdp.synthesis.protocol import Plan, Release
from synthdp.synthesis.sequential import Sequential

Mechanism = Callable[[Plan, Streams], Release]

# cells held at once: draws that share a fit are made together as far as they fit into about 400 MB
MOST_CELLS = 5 * 10**7
# in large files the means over records are sharp enough with the fewest draws that keep chance out of the largest
FEWEST_DRAWS, LARGE = 12, 50_000
# where a mean is within its limit and its interval is not, so many times as many draws decide; on the way there an
# interval at this level is enough
SHARPENED, EARLY_LEVEL = 3, 0.99


def count_of(config: Config, records: int) -> int:
    """Return how many draws the verdict rests on: as the config says, but the fewest in large files by default."""
    asked = "draws" in config.release.model_fields_set
    return config.release.draws if asked or records < LARGE else FEWEST_DRAWS


def repeat(
    config: Config,
    plan: Plan,
    *,
    streams: Streams,
    count: int,
    first: int = 0,
    jobs: int = 1,
    mechanism: Mechanism | None = None,
) -> Iterator[Release]:
    """Yield the copies of a plan ``count`` times, all that is done to a release included.

    Parameters
    ----------
    first
        How many draws were made before: these are others.
    mechanism
        Whatever else makes the copies of a plan; by default the config's method.

    Where copies depend on each other only through the fit, several draws are cut from one long release: that is the
    same law, and the model is fitted once. Where they share a mask, a completed original or a noisy table, everything
    is made anew for each draw.

    Notes
    -----
    Cost: ``count`` times the drawing, and ``count·M·n·p/5·10⁷`` fits, at least one.
    """
    if mechanism is not None:
        yield from (mechanism(plan, streams.within("draw", place)) for place in range(first, first + count))
        return
    method = config.synthesis
    together = made_together(config, plan, count)
    done = 0
    while done < count:
        size = min(together, count - done)
        settings = method if size == 1 else method.model_copy(update={"copies": method.copies * size})
        made = make(settings, plan, streams=streams.within("draw", first + done), jobs=jobs)
        each = len(made.copies) // size
        for number in range(size):
            copies = made.copies[number * each : (number + 1) * each]
            yield finish(method, replace(made, copies=copies, design=method.design(plan)), plan)[0]
        done += size


def beside(plan: Plan, made: Release, *, schema: Schema | None = None) -> Comparison:
    """Lay copies whose row i was made from record i beside the original."""
    data = plan.released
    design = made.design
    return Comparison(
        data.frame,
        made.copies,
        schema or data.schema,
        aligned=True,
        groups=plan.tags.labels,
        proper=design.proper if design is not None else None,
        nests=design.imputations if design is not None else 1,
        mask_draw=made.mask_draw if made.mask_draw != "none" else None,
        rule=made.rule,
    )


def made_together(config: Config, plan: Plan, count: int) -> int:
    """Return how many draws may be made in one go."""
    method = config.synthesis
    if not isinstance(method, Imputed | Sequential) or method.imputations > 1:
        return 1
    if getattr(method, "mask_draw", "per_copy") != "per_copy":
        return 1
    cells = max(1, len(plan.data) * len(plan.data.schema.columns) * method.copies)
    return max(1, min(count, MOST_CELLS // cells))
