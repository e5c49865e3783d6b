"""What each column is (kind), what happens to it (role), and whether an intruder may know it (key)."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, model_validator

Level = bool | int | float | str
Transform = Literal["none", "log"] | Annotated[float, Field(gt=0)]
NUMERIC_SETTINGS = ("bounds", "bounds_from", "tolerance", "decimals")


class Kind(StrEnum):
    """What values a column takes."""

    CONTINUOUS = "continuous"
    SEMICONTINUOUS = "semicontinuous"
    COUNT = "count"
    BINARY = "binary"
    ORDINAL = "ordinal"
    NOMINAL = "nominal"
    DATE = "date"

    @property
    def categorical(self) -> bool:
        """Whether values are levels rather than numbers."""
        return self in (Kind.BINARY, Kind.ORDINAL, Kind.NOMINAL)


class Role(StrEnum):
    """What happens to a column: drawn anew, released as it is, or gone before anything else happens."""

    REPLACE = "replace"
    KEEP = "keep"
    DROP = "drop"


class Settings(BaseModel):
    """A frozen settings object: unknown keys are errors, and so are NaN and infinity."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Variable(Settings):
    """One column as the user declares it; what is left out is resolved against the data.

    Parameters
    ----------
    kind
        What values the column takes; inferred from the data when absent.
    role
        ``replace`` (drawn anew), ``keep`` (released as it is) or ``drop`` (a direct identifier).
    key
        Whether the intruder may know this column.
    bounds
        Smallest and largest possible value, fixed before looking at the data.
    bounds_from
        ``data`` takes the bounds from the data; no formal statement about the mask can then be made.
    levels
        The values of a categorical column, in order; from the data when absent.
    tolerance
        How close counts as a match on a continuous key; default a tenth of the column's standard deviation.
    decimals
        Digits after the point in the release; as in the data when absent.
    transform
        ``log`` masks and models log(1 + x - lower bound) instead of x, a number p the power (x - lower bound)^p (for
        skewed columns).

    Examples
    --------
    >>> Variable(kind="continuous", role="replace", key=True, bounds=(18, 90)).bounds
    (18.0, 90.0)
    """

    kind: Kind | None = None
    role: Role = Role.KEEP
    key: bool = False
    bounds: tuple[FiniteFloat, FiniteFloat] | None = None
    bounds_from: Literal["data"] | None = None
    levels: tuple[Level, ...] | None = None
    tolerance: FiniteFloat | None = Field(default=None, ge=0)
    decimals: int | None = Field(default=None, ge=0, le=15)
    transform: Transform = "none"

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.bounds is not None and self.bounds[0] >= self.bounds[1]:
            raise ValueError(f"bounds must be increasing, found [{self.bounds[0]:g}, {self.bounds[1]:g}]")
        if self.bounds is not None and self.bounds_from is not None:
            raise ValueError("give bounds or bounds_from, not both")
        if self.levels is not None and not self.levels:
            raise ValueError("levels must name at least one level; leave them out to take them from the data")
        if self.levels is not None and min(len(set(self.levels)), len(set(map(str, self.levels)))) < len(self.levels):
            raise ValueError("levels must differ from each other")
        if self.kind is not None and self.kind.categorical:
            for name in NUMERIC_SETTINGS:
                if getattr(self, name) is not None:
                    raise ValueError(f"{name} is for numeric columns, this one is {self.kind}")
            if self.transform != "none":
                raise ValueError(f"transform is for numeric columns, this one is {self.kind}")
        elif self.kind is not None and self.levels is not None:
            raise ValueError(f"levels are for categorical columns, this one is {self.kind}")
        return self


class Column(Settings):
    """A column with everything resolved: the kind is known, levels are listed, tolerance is a number."""

    name: str
    kind: Kind
    role: Role
    key: bool
    bounds: tuple[float, float] | None = None
    bounds_public: bool = False
    levels: tuple[Level, ...] = ()
    tolerance: float = 0.0
    tolerance_default: bool = False
    decimals: int | None = None
    transform: Transform = "none"


class Schema(Settings):
    """The released columns, in file order (dropped columns are not part of it)."""

    columns: tuple[Column, ...]

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return any(column.name == name for column in self.columns)

    def names(self) -> tuple[str, ...]:
        """Return all column names in file order."""
        return tuple(column.name for column in self.columns)

    def replaced(self) -> tuple[Column, ...]:
        """Return the columns drawn anew (X)."""
        return tuple(self._with_role(Role.REPLACE))

    def kept(self) -> tuple[Column, ...]:
        """Return the columns released as they are (Z)."""
        return tuple(self._with_role(Role.KEEP))

    def keys(self) -> tuple[Column, ...]:
        """Return the columns an intruder may know."""
        return tuple(column for column in self.columns if column.key)

    def _with_role(self, role: Role) -> Iterator[Column]:
        return (column for column in self.columns if column.role is role)
