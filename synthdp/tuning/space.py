"""What tuning may vary, and the settings that a choice stands for.

A *shape* is everything but the common strength of the masks: how strong they are relative to each other by column and
risk group, whether noise is graded, the model, the number of copies, how W is drawn, whether kept columns are made
coarser, and whether the ends of keys are cut off. A shape and a rung of the ladder (see ``rays``) are one candidate.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from synthdp.config import Config
from synthdp.config.settings import AnyMask
from synthdp.errors import SynthdpError
from synthdp.stages.kept_advice import given_settings, nobody_alone, options_for, reworded
from synthdp.stages.planning import plan_of
from synthdp.synthesis.imputed import DaMi
from synthdp.table.microdata import Microdata
from synthdp.tagging.groups import LOW, Neighbours
from synthdp.tuning.leaves import TREES, leaf_of, trees_of
from synthdp.tuning.rays import HIGHEST, LOWEST, factor_of
from synthdp.tuning.strengths import Masked, masked_columns
from synthdp.tuning.tails import Cuts, cut_ends

# relative strengths in half octaves: a column's mask may be 4 times weaker or stronger than the common factor
RELATIVE = range(-4, 5)
# and that of the records that stand out up to twice as strong
STRONGER = (0, 1, 2)
# which are tried beside the config's own; given masks, trees are far behind (reports/tune_files), and ``once`` makes
# intervals too short
MODELS = ("auto", "regression", "copula", TREES)
DRAWS = ("per_copy", "once_orthogonal")
COPIES = (3, 5, 10)
# more copies gain usefulness under every mask (reports/tune_files); of larger files they cost more time than that is
# worth
MANY_COPIES, SMALL = 20, 8000
WEAK, WEAKER = -4, -2


@dataclass(frozen=True)
class Shape:
    """One choice of everything but the common strength.

    Parameters
    ----------
    relative
        By column, in half octaves.
    groups
        How much stronger masks of the riskiest group are, in half octaves.
    model
        ``sequential cart``: trees without masks, so that all that masks may be is left as it is.
    tails
        Which ends of keys are cut off: 0 for none, k for the k-th entry of ``Space.tails``.
    """

    relative: tuple[int, ...]
    graded: bool = False
    groups: int = 0
    model: str = ""
    copies: int = 5
    mask_draw: str = "per_copy"
    coarser: bool = False
    tails: int = 0

    def params(self, space: "Space") -> dict[str, Any]:
        """Return the choices by name, only those that there are."""
        every: dict[str, Any] = {
            **{f"masks.{one.name}": step for one, step in zip(space.columns, self.relative, strict=True)},
            **{
                name: getattr(self, name)
                for name in ("graded", "groups", "model", "copies", "mask_draw", "coarser", "tails")
            },
        }
        return {name: every[name] for name in space.choices()}


@dataclass(frozen=True, repr=False)
class Space:
    """All candidates.

    Parameters
    ----------
    config
        What everything else is taken from.
    columns
        Whose masks are tuned.
    tags
        Risk groups that have records, from the least to the most risky.
    models, copies, mask_draws
        What may be chosen, the config's own first.
    coarser
        What ``variables`` says where kept columns are made coarser; None where that is not offered.
    only_coarser
        Whether people are alone with kept columns as they are, so that there is no choice.
    tails
        Where ends of replaced keys may be cut off: those that reach furthest out, then more.
    """

    config: Config
    columns: tuple[Masked, ...]
    tags: tuple[str, ...]
    models: tuple[str, ...]
    copies: tuple[int, ...]
    mask_draws: tuple[str, ...]
    coarser: Mapping[str, Any] | None = None
    only_coarser: bool = False
    tails: tuple[Cuts, ...] = ()

    def __repr__(self) -> str:
        return f"Space({len(self.columns)} masks, {self.size():.3g} candidates)"

    def choices(self) -> dict[str, tuple[Any, ...]]:
        """Return what may be chosen, by name; what has one value is left out."""
        vary = self.config.tuning.vary
        found: dict[str, tuple[Any, ...]] = {}
        if "masks" in vary:
            # one column's strength is the common factor itself
            several = len(self.columns) > 1
            found |= {f"masks.{one.name}": tuple(RELATIVE) for one in self.columns if several}
            found["graded"] = (False, True) if any(one.gradable for one in self.columns) else (False,)
            found["groups"] = STRONGER if len(self.tags) > 1 else (0,)
        found |= {"model": self.models, "copies": self.copies, "mask_draw": self.mask_draws}
        found["coarser"] = (True,) if self.only_coarser else (False, True) if self.coarser else (False,)
        found["tails"] = tuple(range(len(self.tails) + 1))
        return {name: values for name, values in found.items() if len(values) > 1}

    def size(self) -> float:
        """Return how many candidates there are to choose from."""
        rungs = HIGHEST - LOWEST + 1 if "masks" in self.config.tuning.vary else 1
        return float(math.prod((rungs, *(len(values) for values in self.choices().values()))))

    @property
    def bits(self) -> float:
        """How much the choice itself can tell of the data, at most: log₂ of the number of candidates."""
        return math.log2(self.size())

    def shape(self, params: Mapping[str, Any] | None = None) -> Shape:
        """Return the shape of some choices; what is not chosen is as the config has it, masks equally strong."""
        given = dict(params or {})
        first: dict[str, Any] = {"model": self.models[0], "copies": self.copies[0], "mask_draw": self.mask_draws[0]}
        found = Shape(
            relative=tuple(int(given.get(f"masks.{one.name}", 0)) for one in self.columns),
            graded=bool(given.get("graded", False)),
            groups=int(given.get("groups", 0)),
            model=str(given.get("model", first["model"])),
            copies=int(given.get("copies", first["copies"])),
            mask_draw=str(given.get("mask_draw", first["mask_draw"])),
            coarser=bool(given.get("coarser", self.only_coarser)),
            tails=int(given.get("tails", 0)),
        )
        # without masks there is nothing to tell such shapes apart by
        return replace(self.plain(found), mask_draw=first["mask_draw"]) if found.model == TREES else found

    def starts(self, even: Shape | None = None) -> list[Shape]:
        """Return the shapes to begin with: masks equally strong in sd, then one change of that at a time."""
        even = even or self.shape()
        if even.model == TREES:
            even = replace(even, model=self.models[0])
        if "masks" not in self.config.tuning.vary:
            return [even]
        found = [even]
        kinds = (
            (WEAK, [not one.key for one in self.columns]),
            (WEAKER, [one.levels > 0 for one in self.columns]),
            (WEAKER, [one.levels == 0 for one in self.columns]),
        )
        for step, whose in kinds:
            if any(whose) and not all(whose):
                found.append(replace(even, relative=tuple(step if mine else 0 for mine in whose)))
        names = self.choices()
        if "graded" in names:
            found.append(replace(even, graded=True))
            if any(one.levels > 0 for one in self.columns):
                # levels told nearly as they are, numbers hidden by how lonely a record is (reports/registry)
                steps = tuple(WEAKER if one.levels > 0 else 0 for one in self.columns)
                found.append(replace(even, relative=steps, graded=True))
        if "groups" in names:
            found.append(replace(even, groups=max(STRONGER)))
        if len(self.columns) > 1:
            written = [2 * math.log2(one.strength()) for one in self.columns]
            middle = sorted(written)[len(written) // 2]
            steps = tuple(min(max(round(one - middle), RELATIVE[0]), RELATIVE[-1]) for one in written)
            found.append(replace(even, relative=steps))
        return list(dict.fromkeys(found))

    def more_copies(self, best: Shape) -> list[Shape]:
        """Return the best shape with more copies, the most first."""
        more = sorted((count for count in self.choices().get("copies", ()) if count > best.copies), reverse=True)
        return [replace(best, copies=count) for count in more]

    def trees(self, best: Shape) -> list[Shape]:
        """Return trees with as many copies as the best shape, and with the config's own number of them."""
        if TREES not in self.choices().get("model", ()):
            return []
        found = replace(self.plain(best), model=TREES, mask_draw=self.mask_draws[0])
        return list(dict.fromkeys((found, replace(found, copies=self.copies[0]))))

    def plain(self, shape: Shape) -> Shape:
        """Return a shape with all masks equally strong, as somebody would try it by hand."""
        return replace(shape, relative=(0,) * len(self.columns), graded=False, groups=0)

    def moves(self, best: Shape, *, first: str = "tails") -> list[Shape]:
        """Return the best shape with one of its choices changed: another model, W drawn otherwise, more copies.

        ``first`` is what changes first, where one knows what stands in the way.
        """
        found: list[Shape] = []
        for name in sorted(("tails", "coarser", "copies", "model", "mask_draw"), key=lambda name: name != first):
            for value in self.choices().get(name, ()):
                if getattr(best, name) != value and (name != "mask_draw" or best.model != TREES):
                    changed: dict[str, Any] = {name: value}
                    found.append(replace(best, **changed))
        return [self.trees(one)[0] if one.model == TREES else one for one in found]

    def config_of(self, shape: Shape, rung: int) -> Config:
        """Return the config of a candidate; one that varies no masks has the config's own."""
        changed: dict[str, Any] = {"synthesis": self._synthesis(shape, rung)}
        config = self.config
        if (variables := self._variables(shape)) is not None:
            config = reworded(config, "variables", variables) or config
            # what was read from a file stays read: paths were made absolute
            config = self.config.model_copy(update={"variables": config.variables})
        if shape.model == TREES:
            changed |= {"masks": {}, "masks_by_group": {}}
        elif "masks" in self.config.tuning.vary:
            masks = self._masks(shape, factor_of(rung))
            changed["masks"] = {**config.masks, **masks}
            # masks that are not tuned, such as a matrix written out for one group, stay as they are
            by_group = {
                tag: {name: mask for name, mask in block.items() if name not in masks}
                for tag, block in config.masks_by_group.items()
            }
            for tag, share in self._shares().items() if shape.groups else ():
                stronger = self._masks(shape, factor_of(rung) * 2 ** (shape.groups * share / 2))
                by_group[tag] = {**by_group.get(tag, {}), **stronger}
            changed["masks_by_group"] = {tag: block for tag, block in by_group.items() if block}
        return config.model_copy(update=changed)

    def _variables(self, shape: Shape) -> Mapping[str, Any] | None:
        """Return what ``variables`` says of a shape; None where it says what the config does."""
        changed = self.coarser if shape.coarser else None
        if not shape.tails:
            return changed
        given = changed if changed is not None else given_settings(self.config).get("variables", {})
        cut = self.tails[shape.tails - 1]
        return {**given, **{name: {**given.get(name, {}), **cuts} for name, cuts in cut.items()}}

    def _masks(self, shape: Shape, factor: float) -> dict[str, AnyMask]:
        return {
            one.name: one.of(factor * 2 ** (step / 2), graded=shape.graded and one.gradable)
            for one, step in zip(self.columns, shape.relative, strict=True)
        }

    def _shares(self) -> dict[str, float]:
        """Return by risk group which share of the riskiest group's extra strength it gets."""
        others = [tag for tag in self.tags if tag != LOW]
        if not isinstance(self.config.groups, Neighbours):
            return dict.fromkeys(others, 1.0)
        return {tag: (place + 1) / len(others) for place, tag in enumerate(others)}

    def _synthesis(self, shape: Shape, rung: int) -> Any:
        given = self.config.synthesis
        if shape.model == TREES:
            return trees_of(self.config, shape.copies, rung)
        update: dict[str, Any] = {"copies": shape.copies, "mask_draw": shape.mask_draw}
        if shape.model != given.association:
            block = {**given_settings(given), "method": given.method, "model": {"method": shape.model}}
            other = reworded(self.config, "synthesis", block)
            given = other.synthesis if other is not None else given
        return given.model_copy(update=update)


def space_of(config: Config, data: Microdata) -> Space:
    """Return all candidates of a config that can be made of the data."""
    vary, synthesis = config.tuning.vary, cast(DaMi, config.synthesis)
    plan = plan_of(config, data)
    labels = plan.tags.labels
    tags = tuple(str(tag) for tag in labels.cat.categories if (labels == tag).any())
    counts = (*COPIES, MANY_COPIES) if len(data) <= SMALL else COPIES
    copies = tuple(dict.fromkeys((synthesis.copies, *counts))) if "copies" in vary else (synthesis.copies,)
    draws = tuple(dict.fromkeys((synthesis.mask_draw, *DRAWS))) if "mask_draw" in vary else (synthesis.mask_draw,)
    own = synthesis.association
    models = tuple(dict.fromkeys((own, *MODELS))) if "model" in vary else (own,)
    found = Space(config, masked_columns(plan.data, config.masks), tags, (own,), copies, draws)

    def possible(changed: Config) -> bool:
        try:
            plan_of(changed, data)
        except SynthdpError:
            return False
        return True

    at_all = replace(found, models=models)
    if TREES in models and not _maskless(config, found):
        models = tuple(name for name in models if name != TREES)
    known = [name for name in models if name == own or possible(at_all.config_of(at_all.shape({"model": name}), 0))]
    if synthesis.imputations > 1 or not possible(found.config_of(found.shape({"mask_draw": draws[-1]}), 0)):
        found = replace(found, mask_draws=draws[:1])
    found = replace(found, models=tuple(known))
    coarser = offered(config, data) if "coarsening" in vary else None
    # where people are alone with kept keys, which no mask hides, there is no choice
    exposed = coarser is not None and config.limits.limit("max_exposed") is not None
    tails = cut_ends(plan.released) if "coarsening" in vary else ()
    return replace(found, coarser=coarser, only_coarser=exposed, tails=tails)


def _maskless(config: Config, space: Space) -> bool:
    """Return whether trees may take the place of masks: where all of these are tune's to vary."""
    tuned = {one.name for one in space.columns}
    masked = {*config.masks, *(name for block in config.masks_by_group.values() for name in block)}
    return "masks" in config.tuning.vary and masked <= tuned and trees_of(config, 1, 0) is not None


def offered(config: Config, data: Microdata) -> Mapping[str, Any] | None:
    """Return what ``variables`` says after the coarsening that ``check`` offers for kept keys; None if it offers none.

    A column that no coarsening makes safe is not touched: to replace or drop it is a person's decision.
    """
    keys = [column.name for column in data.schema.kept() if column.key and column.design is None]
    if not keys:
        return None
    options = {name: options_for(config, data, name, keys, lambda _: True) for name in keys}
    change = {
        name: dict(more)
        for name, more in nobody_alone(config, data, options).items()
        if set(more) & {"round", "topcode", "rare"}
    }
    given: dict[str, Any] = given_settings(config).get("variables", {})
    return {**given, **{name: {**given.get(name, {}), **more} for name, more in change.items()}} if change else None


def told(space: Space, shape: Shape, others: Sequence[str] = ()) -> str:
    """Return a shape in a few words, as the progress and the table name it.

    ``age ×0.5`` has a mask half as strong as the others.
    """
    parts = [
        f"{one.name} ×{2 ** (step / 2):.2g}" for one, step in zip(space.columns, shape.relative, strict=True) if step
    ]
    parts += ["graded"] * shape.graded + [f"risky groups ×{2 ** (shape.groups / 2):.2g}"] * bool(shape.groups)
    parts += (
        ([shape.model, f"{shape.copies} copies"] + [shape.mask_draw] * (shape.model != TREES))
        + ["coarser"] * shape.coarser
        + [f"ends cut off ({shape.tails} of {len(space.tails)})" if len(space.tails) > 1 else "ends cut off"]
        * bool(shape.tails)
    )
    return ", ".join((*parts, *others))


def named(space: Space, shape: Shape, rung: int) -> str:
    """Return a candidate in a few words: trees have leaves where others have masks."""
    return told(space, shape, (f"leaves of {leaf_of(rung)}",) if shape.model == TREES else ())
