"""Copies of any origin laid beside the original: whose rows they are, and how they came about."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from synthdp.arrays import Booleans
from synthdp.comparing.methods import Called, Configured, Contender, Given
from synthdp.config import Config
from synthdp.errors import InputError
from synthdp.evaluation.comparison import Comparison, Making
from synthdp.seeding import Streams
from synthdp.stages.alignment import align, lay_beside
from synthdp.stages.assessing import making_of
from synthdp.stages.draws import FrameShadows
from synthdp.stages.intake import prepare
from synthdp.stages.planning import plan_of
from synthdp.synthesis.design import Design, rule_for
from synthdp.synthesis.making import finish, make
from synthdp.table.microdata import Codes, Microdata
from synthdp.tagging.groups import tag


@dataclass(frozen=True, repr=False)
class Scene:
    """The confidential side of a comparison, the same for every method.

    Parameters
    ----------
    config
        What is measured; methods have configs of their own.
    frame
        The table as it came in.
    data
        The same, checked.
    holdout
        Records that no method saw, or None.
    unread
        Dropped columns of the table's file, which the table does not have.
    """

    config: Config
    frame: pd.DataFrame
    data: Microdata
    holdout: pd.DataFrame | None = None
    unread: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Scene({len(self.frame)} records)"

    @classmethod
    def of(
        cls,
        config: Config,
        frame: pd.DataFrame,
        holdout: pd.DataFrame | None = None,
        unread: tuple[str, ...] = (),
    ) -> "Scene":
        """Return the table checked, and the holdout spelt as it is."""
        data = prepare(frame, config, unread=unread)
        if holdout is not None:
            plain = config.model_copy(
                update={"evaluation": config.evaluation.model_copy(update={"holdout": None, "rows": "none"})}
            )
            holdout = lay_beside(plain, data, [holdout], groups=None, aligned=False).copies[0]
        return cls(config, frame, data, holdout, unread)


def laid(scene: Scene, copies: Sequence[pd.DataFrame], *, design: Design | None, aligned: bool) -> Comparison:
    """Return tables in memory beside the original."""
    groups = tag(scene.data, scene.config.groups).labels
    found = lay_beside(scene.config, scene.data, copies, groups=groups, design=design, aligned=aligned)
    return found if scene.holdout is None else replace(found, holdout=scene.holdout)


def made_by(one: Configured, scene: Scene, streams: Streams) -> tuple[Callable[[], Comparison], Making]:
    """Return what a method of this package makes, as far as making it goes, and how to make it again."""
    config = one.config
    plan = plan_of(config, prepare(scene.frame, config, unread=scene.unread), one.synthesizer)
    method = one.synthesizer or config.synthesis
    made = finish(method, make(method, plan, streams=streams), plan)[0]
    making = making_of(config, plan, 1) if one.synthesizer is None else Making()
    return (lambda: laid(scene, made.copies, design=made.design, aligned=True)), making


def called(one: Called, scene: Scene, streams: Streams) -> tuple[Callable[[], Comparison], Making]:
    """Return what a function makes of the table, and how to call it again."""
    tables = one.call(scene.frame, streams)

    def again(frame: pd.DataFrame, rng: np.random.Generator) -> list[pd.DataFrame]:
        inner = Streams(int(rng.integers(2**63)))
        return list(_harmonised(scene, one.call(frame, inner)))

    def refit(rows: Codes, rng: np.random.Generator) -> Sequence[pd.DataFrame]:
        return again(scene.frame.iloc[rows].reset_index(drop=True), rng)

    making = Making(refit=refit, shadows=FrameShadows(again, scene.data))
    return (lambda: told(scene, laid(scene, tables, design=None, aligned=False), None, None)), making


def _harmonised(scene: Scene, tables: Sequence[pd.DataFrame]) -> tuple[pd.DataFrame, ...]:
    return laid(scene, tables, design=None, aligned=False).copies


def given(one: Given, scene: Scene) -> Comparison:
    """Return files, or tables in memory, beside the original."""
    config = scene.config
    if one.tables:
        found = laid(scene, one.tables, design=one.design, aligned=False)
    else:
        loose = config.model_copy(update={"evaluation": config.evaluation.model_copy(update={"rows": "none"})})
        found = align(loose, scene.data, one.paths, groups=tag(scene.data, config.groups).labels)
        found = found if scene.holdout is None else replace(found, holdout=scene.holdout)
    return told(scene, found, one.rows, one.design)


def told(scene: Scene, files: Comparison, rows: str | None, design: Design | None) -> Comparison:
    """Return files of another tool with what can be told of them: whether row i is record i, whether all is drawn."""
    n = len(files.original)
    if empty := [number for number, copy in enumerate(files.copies, start=1) if copy.empty]:
        raise InputError(f"copy {empty[0]}: has no records.")
    if rows == "aligned" and any(len(copy) != n for copy in files.copies):
        raise InputError(f"rows: aligned, so {n} rows are required in every copy; leave it out, or write none.")
    kept = [column.name for column in scene.data.schema.kept()]
    whose = rows == "aligned" if rows is not None else row_by_row(files, kept)
    said: list[str] = []
    if rows is None:
        said.append(
            "row i of each copy is taken for record i: the kept columns agree row by row."
            if whose
            else "nothing says which row is whose, so measures that need to know it are left empty."
        )
    files = replace(files, aligned=whose)
    if design is None and files.rule is None and kept and not any(same_values(files, name) for name in kept):
        design = Design(replaced="all", proper=False, copies=len(files.copies))
        files = replace(files, proper=False, rule=rule_for(design))
        said.append(f"no kept column is the original's: taken as fully synthetic, combined by {files.rule}.")
    return replace(files, cautions=(*files.cautions, *said))


def row_by_row(files: Comparison, kept: Sequence[str]) -> bool:
    """Return whether the kept columns of every copy are those of the records, row by row, and tell rows apart."""
    n = len(files.original)
    if not kept or any(len(copy) != n for copy in files.copies):
        return False
    if n < 2 or not files.original[list(kept)].duplicated().sum() < n - 1:
        return False
    return all(_equal(files.original[name], copy[name]).all() for copy in files.copies for name in kept)


def same_values(files: Comparison, name: str) -> bool:
    """Return whether every copy has a column's values in whatever order."""
    original = _sorted(files.original[name])
    return all(len(copy) == len(original) and original == _sorted(copy[name]) for copy in files.copies)


def _sorted(values: pd.Series) -> list[str]:
    return sorted(_spelt(values))


def _spelt(values: pd.Series) -> list[str]:
    numbers = pd.to_numeric(values, errors="coerce")
    plain = values.astype(object)
    # −0.0 is 0 to every other tool, and adding 0.0 makes it so
    return [
        "" if pd.isna(value) else repr(float(number) + 0.0) if np.isfinite(number) else str(value)
        for value, number in zip(plain, numbers.to_numpy(dtype=np.float64, na_value=np.nan), strict=True)
    ]


def _equal(one: pd.Series, other: pd.Series) -> Booleans:
    return np.asarray([a == b for a, b in zip(_spelt(one), _spelt(other), strict=True)], dtype=np.bool_)


def beside(one: Contender, scene: Scene, streams: Streams) -> tuple[Callable[[], Comparison], Making | None]:
    """Make the copies; return how to lay them beside the original, and how to make them again where that is known."""
    if isinstance(one, Configured):
        return made_by(one, scene, streams)
    if isinstance(one, Called):
        return called(one, scene, streams)
    return (lambda: given(one, scene)), None
