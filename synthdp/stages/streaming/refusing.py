"""What a run over shards cannot do, said before any work is done, in one sentence each."""

from collections.abc import Iterator

from synthdp.config import Config
from synthdp.imputation.regression.association import Regression, exact_parts
from synthdp.stages.streaming.looking import Facts
from synthdp.stages.streaming.mixing import FORMATS
from synthdp.synthesis.constraints import binding
from synthdp.synthesis.imputed import DaMi, Mi
from synthdp.table.schema import COARSENINGS, Kind, Role
from synthdp.tagging.groups import Rules

INSTEAD = "set engine: {streaming: false} on a machine with enough memory"


def refused(config: Config) -> list[str]:
    """Return what cannot be done whatever the records are."""
    return [f"streaming: {what}; {cure}." for what, cure in _refused(config)]


def _refused(config: Config) -> Iterator[tuple[str, str]]:
    method = config.synthesis
    if config.data.path.suffix.lower() != ".parquet" and not config.data.path.is_dir():
        yield "the data must be a Parquet file, or a folder of them", f"write them as Parquet, or {INSTEAD}"
    if not isinstance(method, DaMi | Mi):
        yield f"method {method.method} needs the table in memory", f"use da_mi or mi, or {INSTEAD}"
        return
    if not isinstance(method.model, Regression):
        yield f"model {method.model.method} needs the table in memory", f"use model regression, or {INSTEAD}"
    elif method.model.splines:
        yield "the knots of splines need the table in memory", f"set splines: 0, or {INSTEAD}"
    if method.imputations > 1 or method.missing == "impute":
        yield "missing values cannot be imputed", f"use missing: keep, or {INSTEAD}"
    if method.repair:
        yield "repair needs the table in memory", f"leave it out, or {INSTEAD}"
    if method.mask_drawn == "once_orthogonal":
        yield "noise orthogonal in the whole sample needs the table in memory", "use mask_draw: per_copy"
    for name, variable in config.variables.items():
        coarse = [step for step in COARSENINGS if getattr(variable, step) is not None]
        if variable.role is not Role.DROP and coarse:
            yield f"variables.{name}.{coarse[0]} needs the table in memory", "make the column coarser in the file"
        if variable.derived is not None:
            yield f"variables.{name} is derived", "drop it, and let users compute it"
        if variable.applies_when is not None:
            yield f"variables.{name} does not apply to everyone (applies_when)", f"drop it, or {INSTEAD}"
    for setting in ("missing_codes", "dates"):
        if getattr(config.data, setting):
            yield f"data.{setting} needs the table in memory", "write missing values and dates as such into the file"
    if config.data.cluster is not None:
        yield "data.cluster needs the table in memory", f"leave it out, or {INSTEAD}"
    replaced = [name for name, variable in config.variables.items() if variable.role is Role.REPLACE]
    rules = config.groups.rules.values() if isinstance(config.groups, Rules) else ()
    if config.masks_by_group and binding(tuple(rules), replaced):
        yield (
            "masks that differ by a rule on replaced columns need the table in memory",
            f"use neighbours, or {INSTEAD}",
        )
    if binding(config.constraints, replaced):
        yield "constraints on replaced columns need the table in memory", f"leave them out, or {INSTEAD}"
    if config.release.format_of(config.data.path) not in FORMATS:
        yield f"release.format must be one of {', '.join(FORMATS)}", "choose one of them"


def unsuited(config: Config, facts: Facts) -> list[str]:
    """Return which replaced columns cannot be drawn shard by shard."""
    model = config.synthesis.model if isinstance(config.synthesis, DaMi | Mi) else Regression()
    found = []
    for column in facts.schema.replaced():
        if column.kind not in (Kind.BINARY, Kind.CONTINUOUS):
            found.append(
                f"streaming: variables.{column.name} is {column.kind}, and only binary and continuous columns are "
                f"replaced shard by shard; set role: keep, or {INSTEAD}."
            )
        if facts.missing[column.name]:
            found.append(
                f"variables.{column.name}: regression needs complete replaced columns, found "
                f"{facts.missing[column.name]} missing values; leave those records out of the file, or set role: keep."
            )
    if not found and facts.schema.replaced() and isinstance(model, Regression):
        order = model.arranged(facts.schema)
        known = sorted(order) == sorted(column.name for column in facts.schema.replaced())
        if known and exact_parts(facts.schema, order) is None:
            found.append(
                "streaming: the joint draw must be exact: at most 12 binary columns, all before the numbers in "
                f"synthesis.model.order; or {INSTEAD}."
            )
    return found
