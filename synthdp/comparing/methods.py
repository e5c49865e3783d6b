"""What can be compared: settings, a synthesizer, a function from a table to tables, files of another tool."""

import glob
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from synthdp.comparing.fingerprints import of_frame, of_function, of_object, of_part
from synthdp.comparing.truth import ORIGINAL
from synthdp.config import Config, variant
from synthdp.config.settings import METHODS
from synthdp.errors import InputError
from synthdp.seeding import Streams
from synthdp.synthesis.design import Design
from synthdp.synthesis.plan import Method, Release, Synthesizer
from synthdp.table import io

Rows = Literal["aligned", "none"]
FILES = frozenset({"files", "rows", "design"})


@dataclass(frozen=True, repr=False)
class Configured:
    """A method of this package: a config, and the synthesizer where it is an object of somebody's own."""

    name: str
    config: Config
    synthesizer: Synthesizer | None = None

    repeats = True

    def key(self) -> Any:
        """Return what its copies depend on, beside data and seed."""
        own = None if self.synthesizer is None else of_object(self.synthesizer)
        # settings tell nothing of what a class does that was written beside the study
        parts = [of_part(one) for one in _from_outside(self.config)]
        aside = {"seed", "methods", "evaluation", "analyses", "engine"}
        return [self.config.model_dump(mode="json", exclude=aside), own, *parts]

    def cautions(self) -> tuple[str, ...]:
        """Return what a reader of its numbers should know."""
        if self.synthesizer is None and self.config.synthesis.private and not self.config.synthesis.simulated:
            return (
                "its noise comes from a secure source, which no seed repeats: another study gives other numbers "
                "(source: simulated repeats).",
            )
        return ()


@dataclass(frozen=True, repr=False)
class Called:
    """A function from a table to tables; it is given ``rng`` or ``seed`` where it takes an argument of that name."""

    name: str
    function: Callable[..., Any]

    repeats = True

    def key(self) -> Any:
        """Return what its copies depend on, beside data and seed."""
        return of_function(self.function)

    def cautions(self) -> tuple[str, ...]:
        """Return what a reader of its numbers should know."""
        if not {"rng", "seed"} & _arguments(self.function):
            return ("the function takes neither rng nor seed, so a seed does not repeat what it draws.",)
        return ()

    def call(self, frame: pd.DataFrame, streams: Streams) -> list[pd.DataFrame]:
        """Return the tables the function makes of a copy of the frame."""
        rng = streams.generator("function")
        taken = _arguments(self.function)
        given: dict[str, Any] = {"rng": rng} if "rng" in taken else {}
        if "seed" in taken:
            given["seed"] = int(rng.integers(2**31))
        made = self.function(frame.copy(), **given)
        tables = [made] if isinstance(made, pd.DataFrame) else made
        if not isinstance(tables, Sequence) or not tables or not all(isinstance(one, pd.DataFrame) for one in tables):
            raise InputError(f"methods.{self.name}: the function must return a table or a list of tables.")
        return list(tables)


@dataclass(frozen=True, repr=False)
class Given:
    """Copies that exist: files, or tables in memory. They are measured once, whatever the number of seeds."""

    name: str
    paths: tuple[Path, ...] = ()
    tables: tuple[pd.DataFrame, ...] = ()
    rows: Rows | None = None
    design: Design | None = None

    repeats = False

    def key(self) -> Any:
        """Return what they are."""
        held = [io.digest(path) for path in self.paths] or [of_frame(one) for one in self.tables]
        return [held, self.rows, repr(self.design)]

    def cautions(self) -> tuple[str, ...]:
        """Return what a reader of the numbers should know."""
        return ()


Contender = Configured | Called | Given


def _from_outside(config: Config) -> list[Any]:
    """Return the masks, the model and the synthesizer of a config that are not of this package."""
    masks = [*config.masks.values(), *(mask for group in config.masks_by_group.values() for mask in group.values())]
    parts = [*masks, config.synthesis, getattr(config.synthesis, "model", None)]
    return [one for one in parts if one is not None and not type(one).__module__.startswith("synthdp.")]


def contenders(config: Config, methods: Any, files: Mapping[str, Any] | None = None) -> tuple[Contender, ...]:
    """Return everything that is compared, or list what is wrong with it.

    Parameters
    ----------
    methods
        By name: a synthesis block or whole blocks, the name of a method, a synthesizer, a function, files or tables.
        A list of names of methods will do. None for those of the config.
    files
        By name, files of other tools besides.
    """
    if methods is None:
        methods = config.methods
    if isinstance(methods, Sequence) and not isinstance(methods, str):
        methods = {str(one): one for one in methods}
    if not isinstance(methods, Mapping):
        raise InputError(
            "methods: must be a mapping from names to methods, such as {'mi': {'method': 'mi'}}, found "
            f"{type(methods).__name__}."
        )
    if methods and set(methods) <= set(Config.model_fields):
        raise InputError("methods: these are blocks of settings; give them as settings, after the methods.")
    found: list[Contender] = []
    problems: list[str] = []
    pairs = [*methods.items(), *(files or {}).items()]
    names = [name for name, _ in pairs]
    for name, what in pairs:
        try:
            if not isinstance(name, str) or not name.strip() or not name.isprintable():
                raise InputError("methods: a name must be printable text.")
            if name == ORIGINAL:
                raise InputError(f"methods: {ORIGINAL} stands for the records themselves; choose another name.")
            if names.count(name) > 1:
                raise InputError(f"methods.{name}: the name is given twice; choose another for the files.")
            found.append(_contender(config, name, what))
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(*dict.fromkeys(problems))
    if not found:
        raise InputError("methods: nothing to compare; name methods in the config, or give files.")
    return tuple(found)


def _contender(config: Config, name: str, what: Any) -> Contender:
    if isinstance(what, Config):
        return Configured(name, what)
    if isinstance(what, Method):
        return Configured(name, config.model_copy(update={"synthesis": what}))
    if isinstance(what, Release):
        return Given(name, tables=tuple(what.copies), rows="aligned", design=what.design)
    if isinstance(what, str) and what in METHODS:
        return Configured(name, variant(config, name, {"method": what}))
    if isinstance(what, Mapping):
        if "files" not in what:
            return Configured(name, variant(config, name, what))
        unknown = sorted(set(what) - FILES)
        if unknown or what.get("rows") not in (None, "aligned", "none"):
            raise InputError(f"methods.{name}: files take rows (aligned or none) and design besides, and nothing else.")
        if not isinstance(what.get("design"), Design | None):
            raise InputError(f"methods.{name}.design: must be a synthdp.synthesis.design.Design, found something else.")
        return _given(name, what["files"], what.get("rows"), what.get("design"))
    if isinstance(what, str | Path | pd.DataFrame) or (isinstance(what, Sequence) and what):
        return _given(name, what, None, None)
    if hasattr(what, "synthesize"):
        return Configured(name, config, what)
    if callable(what):
        if not takes(what, None, **dict.fromkeys({"rng", "seed"} & _arguments(what))):
            raise InputError(f"methods.{name}: the function must take a table, and rng or seed if it likes.")
        return Called(name, what)
    raise InputError(
        f"methods.{name}: must be settings, a synthesizer, a function from a table to tables, or files; found "
        f"{type(what).__name__}."
    )


def _given(name: str, what: Any, rows: Rows | None, design: Any) -> Given:
    each: list[Any] = [what] if isinstance(what, str | Path | pd.DataFrame) else list(what)
    if all(isinstance(one, pd.DataFrame) for one in each):
        return Given(name, tables=tuple(each), rows=rows, design=design)
    if not all(isinstance(one, str | Path) for one in each):
        raise InputError(f"methods.{name}: files must be paths or tables, all of one kind.")
    paths = [path for one in each for path in _globbed(one)]
    if not paths:
        raise InputError(f"methods.{name}: no file matches {', '.join(map(str, each))}, and no method is called so.")
    return Given(name, paths=tuple(paths), rows=rows, design=design)


def _globbed(pattern: str | Path) -> list[Path]:
    path = Path(pattern)
    if path.is_dir():
        inside = path if (path / "release.json").exists() else path / "public"
        return sorted(inside.glob("synthetic_*")) or sorted(one for one in path.iterdir() if one.is_file())
    return [path] if path.is_file() else sorted(Path(one) for one in glob.glob(str(pattern), recursive=True))


def _arguments(function: Callable[..., Any]) -> set[str]:
    try:
        return set(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # written in C
        return set()


def takes(function: Callable[..., Any], *given: Any, **named: Any) -> bool:
    """Return whether a function can be called with these arguments; True where nobody can tell."""
    try:
        inspect.signature(function).bind(*given, **named)
    except TypeError:
        return False
    except ValueError:  # written in C
        return True
    return True


def drawn(simulator: Callable[..., Any], n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return the table a simulator draws: a function of rng, and of n where it takes it."""
    taken = _arguments(simulator)
    given = {"n": n} if "n" in taken and not _bound(simulator, "n") else {}
    if "rng" not in taken and not takes(simulator, rng, **given):
        raise InputError("compare: the simulator must take rng, a generator of random numbers, and n if it likes.")
    frame = simulator(**given, rng=rng) if "rng" in taken else simulator(rng, **given)
    if not isinstance(frame, pd.DataFrame):
        raise InputError(f"compare: the simulator must return a table, found {type(frame).__name__}.")
    return frame


def _bound(function: Any, name: str) -> bool:
    return name in (getattr(function, "keywords", None) or {})
