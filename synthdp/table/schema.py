"""What each column is (kind), what happens to it (role), and whether an intruder may know it (key)."""

from collections.abc import Iterator
from enum import StrEnum
from math import inf
from typing import Annotated, Literal, Self, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

Level = bool | int | float | str
Transform = Literal["none", "log"] | Annotated[float, Field(gt=0)]
Design = Literal["weights", "strata", "cluster"]
Period = Literal["month", "quarter", "year"]
PERIODS: tuple[Period, ...] = get_args(Period)
Step = Annotated[float, Field(gt=0)] | Period
NUMERIC_SETTINGS = ("bounds", "bounds_from", "tolerance", "decimals")
# what makes a column coarser before anything else happens, in the order it is done
COARSENINGS = ("recode", "bottomcode", "topcode", "round", "rare")
NUMERIC_COARSENINGS = ("bottomcode", "topcode", "round")
MOST_EXCEPTIONS = 0.05  # of the records to which a column does not apply: more are no slips
NOT_DERIVED = ("bounds", "bounds_from", "keep_anyway", "applies_when", *COARSENINGS)


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
    """What happens to a column: drawn anew, released as it is, gone before anything else happens, or recomputed."""

    REPLACE = "replace"
    KEEP = "keep"
    DROP = "drop"
    DERIVED = "derived"


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
        Whether the intruder may know this column; absent means that nobody has said. An undecided column that is
        replaced is judged as a key; one that is kept and helps to make records unique is asked about.
    bounds
        Smallest and largest possible value, fixed before looking at the data.
    bounds_from
        ``data`` takes the bounds from the data; no formal statement about the mask can then be made.
    levels
        The values of a categorical column, in order; from the data when absent.
    tolerance
        How close counts as a match on a continuous key; default a tenth of the column's standard deviation,
        and at least half a step of its last decimal.
    decimals
        Digits after the point in the release; as in the data when absent.
    transform
        ``log`` masks and models log(1 + x - lower bound) instead of x, a number p the power (x - lower bound)^p (for
        skewed columns).
    derived
        A formula over released columns, such as ``log(popul + 0.1)``: the column is recomputed in every copy, and is
        neither masked nor seen by a model. It must reproduce the column in the data.
    recode, bottomcode, topcode, round, rare
        Make the column coarser before anything else happens: values replaced by others, small and large ones cut off,
        numbers rounded to a step and dates down to the first day of a ``month``, ``quarter`` or ``year``, levels of
        fewer than ``rare`` records grouped as "other".
    applies_when
        A condition over other released columns, such as ``employed == 'YES'``, without which the column has no value
        (a question that was not asked). True of the data, as they are after coarsening, and of every copy.
    applies_exceptions
        Which share of the records to which the column does not apply may have a value all the same; those values are
        taken for missing before anything else happens, and a larger share is an error.
    keep_anyway
        Keeps a column although it gives a replaced one away (see ``synthdp.table.relations``).

    Examples
    --------
    >>> Variable(kind="continuous", role="replace", key=True, bounds=(18, 90)).bounds
    (18.0, 90.0)
    """

    kind: Kind | None = None
    role: Role = Role.KEEP
    key: bool | None = None
    bounds: tuple[FiniteFloat, FiniteFloat] | None = None
    bounds_from: Literal["data"] | None = None
    levels: tuple[Level, ...] | None = None
    tolerance: FiniteFloat | None = Field(default=None, ge=0)
    decimals: int | None = Field(default=None, ge=0, le=15)
    transform: Transform = "none"
    derived: str | None = None
    recode: dict[Level, Level] | None = None
    bottomcode: FiniteFloat | None = None
    topcode: FiniteFloat | None = None
    round: Step | None = None
    rare: int | None = Field(default=None, ge=2)
    applies_when: str | None = None
    applies_exceptions: FiniteFloat = Field(default=0.0, ge=0, le=MOST_EXCEPTIONS)
    keep_anyway: bool = False

    @field_validator("round", mode="before")
    @classmethod
    def _step(cls, given: object) -> object:
        if given is None or given in PERIODS:
            return given
        try:
            fits = not isinstance(given, bool) and 0 < float(str(given)) < inf
        except ValueError:
            fits = False
        if not fits:
            raise ValueError("must be a number greater than 0, or month, quarter or year for dates")
        return given

    @model_validator(mode="after")
    def _settled_role(self) -> Self:
        if self.derived is None and self.role is Role.DERIVED:
            raise ValueError("role: derived needs a formula; write derived: with one")
        if self.derived is not None:
            if "role" in self.model_fields_set and self.role is not Role.DERIVED:
                raise ValueError(f"a derived column is recomputed, it cannot be role: {self.role}; leave out one")
            for name in NOT_DERIVED:
                if getattr(self, name):
                    raise ValueError(f"{name} is not for derived columns; they follow from their formula")
            if self.transform != "none":
                raise ValueError("transform is not for derived columns; they follow from their formula")
            if self.kind is Kind.DATE:
                raise ValueError("a derived column has numbers or levels, not dates")
        return self

    @model_validator(mode="after")
    def _excepted(self) -> Self:
        if self.applies_exceptions and self.applies_when is None:
            raise ValueError("applies_exceptions are those to applies_when; write that too")
        return self

    @model_validator(mode="after")
    def _coarser(self) -> Self:
        if self.topcode is not None and self.bottomcode is not None and self.bottomcode >= self.topcode:
            raise ValueError("bottomcode must be below topcode")
        for name in NUMERIC_COARSENINGS:
            if getattr(self, name) is not None and self.kind is not None and self.kind.categorical:
                raise ValueError(f"{name} is for numeric columns, this one is {self.kind}; use recode")
            if getattr(self, name) is not None and self.kind is Kind.DATE and self.period is None:
                hint = "; round dates to month, quarter or year" if name == "round" else ""
                raise ValueError(f"{name} is for numeric columns, this one is {self.kind}{hint}")
        if self.period is not None and self.kind is not Kind.DATE and self._speaks_of_numbers():
            raise ValueError(f"round: {self.period} is for dates, this column has numbers; round to a number")
        if self.period is not None and (self.topcode is not None or self.bottomcode is not None):
            raise ValueError(
                "topcode and bottomcode are for numeric columns, and round: month, quarter or year for dates"
            )
        if self.rare is not None and self.kind not in (None, Kind.NOMINAL, Kind.ORDINAL):
            raise ValueError(f"rare is for nominal and ordinal columns, this one is {self.kind}")
        return self

    @model_serializer(mode="wrap")
    def _written(self, write: SerializerFunctionWrapHandler) -> dict[str, object]:
        """Return the settings without exceptions where there are none: manifests are as they were before."""
        found: dict[str, object] = write(self)
        if not self.applies_exceptions:
            found.pop("applies_exceptions", None)
        return found

    @property
    def period(self) -> Period | None:
        """What dates are rounded to, or None."""
        return next((period for period in PERIODS if period == self.round), None)

    def _speaks_of_numbers(self) -> bool:
        numeric = self.kind in (Kind.CONTINUOUS, Kind.SEMICONTINUOUS, Kind.COUNT)
        return numeric or self.decimals is not None or self.transform != "none"

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
    """A column with everything resolved: the kind is known, levels are listed, tolerance is a number.

    ``key_decided`` tells whether somebody has said that ``key`` is so; ``period`` is what dates were rounded to;
    ``form`` is how all texts of the file write dates, where that is not ISO 8601: a few of them could be read in many
    ways. ``applies_through`` holds the derived columns that ``applies_when`` needs, in the order they are computed.
    """

    name: str
    kind: Kind
    role: Role
    key: bool
    key_decided: bool = True
    # whether somebody wrote the kind down, which is otherwise guessed from the values
    kind_public: bool = True
    bounds: tuple[float, float] | None = None
    bounds_public: bool = False
    levels: tuple[Level, ...] = ()
    levels_public: bool = False
    tolerance: float = 0.0
    tolerance_default: bool = False
    decimals: int | None = None
    decimals_public: bool = False
    transform: Transform = "none"
    derived: str | None = None
    coarsened: tuple[str, ...] = ()
    period: Period | None = None
    form: str | None = None
    applies_when: str | None = None
    applies_exceptions: float = 0.0
    applies_through: tuple["Column", ...] = ()
    keep_anyway: bool = False
    design: Design | None = None


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

    def derived(self) -> tuple[Column, ...]:
        """Return the columns recomputed from the others."""
        return tuple(self._with_role(Role.DERIVED))

    def keys(self) -> tuple[Column, ...]:
        """Return the columns an intruder may know."""
        return tuple(column for column in self.columns if column.key)

    def _with_role(self, role: Role) -> Iterator[Column]:
        return (column for column in self.columns if column.role is role)
