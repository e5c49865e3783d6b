"""The settings of a config file, and the masks and methods it may name: everything but the data has a default."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Discriminator, Field, SerializerFunctionWrapHandler, Tag, field_validator, model_serializer

from synthdp import plugins
from synthdp.config.describing import describe
from synthdp.config.engine import AnyEngine, Local
from synthdp.config.publication import Publication
from synthdp.evaluation.comparison import Request
from synthdp.evaluation.gate.limits import OFF, Thresholds
from synthdp.evaluation.measures import REMOVED, RISK, UTILITY
from synthdp.evaluation.risk.intruders import Intruder
from synthdp.evaluation.utility.propensity.nulls import Propensity
from synthdp.inference.analyses import Analysis
from synthdp.masking.mask import MaskSettings
from synthdp.synthesis.imputed import DaMi
from synthdp.synthesis.plan import Method
from synthdp.table import io
from synthdp.table.schema import Level, Settings, Variable
from synthdp.tagging.groups import Neighbours, Rules

MASKS: Mapping[str, type[Settings]] = plugins.Registry("masks")
METHODS: Mapping[str, type[Settings]] = plugins.Registry("synthesizers")

# the largest ε of a differentially private method that takes the place of the gate's limits
LARGEST_EPSILON = 20.0

if TYPE_CHECKING:
    Utility = str
    Risk = str
else:
    Utility, Risk = Literal[tuple(UTILITY)], Literal[tuple(RISK)]


def _grouping(value: Any) -> str:
    """Return how risk groups are made: by rules where there are any, by neighbours where nothing is said."""
    if isinstance(value, Mapping):
        return str(value.get("method", "rules" if "rules" in value else "neighbours"))
    return str(getattr(value, "method", "neighbours"))


AnyGroups = Annotated[
    Annotated[Neighbours, Tag("neighbours")] | Annotated[Rules, Tag("rules")], Discriminator(_grouping)
]
if TYPE_CHECKING:
    AnyMask = MaskSettings
    AnySynthesis = Method
    AnyFormat = str
else:
    AnyMask = plugins.union("masks")
    AnySynthesis = plugins.union("synthesizers", default="da_mi")
    AnyFormat = Literal[(*plugins.names("formats"), "same")]


class Data(Settings):
    """Where the confidential file is.

    Parameters
    ----------
    path
        CSV, TSV (both also with .gz), Parquet, Feather, Stata, SPSS or SAS; relative to the config file.
    encoding
        Of a text file; of an SPSS, Stata or SAS file only where it names its own wrongly.
    decimal, separator
        Of a text file: the decimal mark, and what stands between values (by default a comma; a tab in .tsv files).
    dates
        Columns that hold dates, with their form as strptime writes it, for example "%d.%m.%Y".
    row_names
        Whether the first column of a text file has no name and holds row names, as R writes them; it is left out.
    missing_codes
        Values that mean "missing", by column.
    weights, strata, cluster
        Columns of the survey's design. They are carried as kept columns; weights and strata are predictors like any
        other kept column, the cluster is not. Analyses that name them account for them in their standard errors.
    """

    path: Path
    encoding: str = "utf-8"
    decimal: Literal[".", ","] | None = None
    separator: Literal[",", ";", "\t", "|"] | None = None
    dates: dict[str, str] = Field(default_factory=dict)
    row_names: bool = False
    missing_codes: dict[str, tuple[Level, ...]] = Field(default_factory=dict)
    weights: str | None = None
    strata: str | None = None
    cluster: str | None = None

    @field_validator("path")
    @classmethod
    def _nameable(cls, path: Path) -> Path:
        if "\0" in str(path):
            raise ValueError("must be the name of a file")
        return path

    @field_validator("encoding")
    @classmethod
    def _known_encoding(cls, encoding: str) -> str:
        try:
            "".encode(encoding)
        except LookupError:
            raise ValueError("must be an encoding, for example utf-8, windows-1252 or iso-8859-1") from None
        return encoding

    @field_validator("dates")
    @classmethod
    def _known_forms(cls, dates: dict[str, str]) -> dict[str, str]:
        if not all("%" in form for form in dates.values()):
            raise ValueError('a form is written as strptime does, for example "%d.%m.%Y"')
        return dates


class ShadowGame(Settings):
    """How ``membership_shadow`` is played; it is taken only where ``evaluation.risk`` lists it.

    Parameters
    ----------
    fits
        How often the method is fitted; intervals shrink with the root of it.
    targets
        For how many of the most vulnerable records it is played; fewer where they would be an eighth of the file.
    others
        ``half``: the intruder does not know who else is in, and every fit serves all targets. ``all``: they know
        everybody else, and a fit serves one target, so that few targets need many fits.
    """

    fits: int = Field(default=400, ge=40)
    targets: int = Field(default=50, ge=1)
    others: Literal["half", "all"] = "half"


class EvaluationSettings(Settings):
    """How the copies are judged.

    Parameters
    ----------
    rows
        Whether row i of a file is record i: ``aligned``, ``none``, or a file with the row order of each copy.
    utility, risk
        Which measures are taken. ``distributions``, ``correlations``, ``prediction`` and ``k_marginal`` only when asked
        for, and so ``identity_bayes``, which makes the copies 2 to 10 times more, and ``membership_shadow``, which fits
        the method 400 times to halves of the file.
    targets
        Columns that matter most: ``prediction`` learns them from the others, attribute risk guesses them.
    table_ways, table_columns, most_tables
        Of how many columns tables are, of which (all by default), and how many of each number of ways at most:
        where there are more, so many are drawn at random.
    subgroups
        A column whose levels are judged one by one; by default the risk groups, where rows are aligned. Where it is
        named, such as the area, every table of ``k_marginal`` is crossed with it.
    holdout
        A file of records that the synthesis never saw: what an intruder achieves against them is the baseline for
        attribute, membership and singling-out attacks.
    intruders
        More intruders by name: who knows some of the keys, knows them with error, is not sure of the target.
    propensity
        How synthetic records are told from original ones (``pmse``).
    shadow
        How many fits and targets ``membership_shadow`` has.
    budget
        Seconds that one measure of the report may take; what takes longer is skipped, and said to be. The gate takes
        whatever its limits need all the same. By default there is no budget.
    """

    rows: str = "aligned"
    utility: tuple[Utility, ...] = ("pmse", "analyses", "panel", "tables")
    risk: tuple[Risk, ...] = (
        "identity",
        "identity_averaged",
        "identity_linked",
        "identity_likelihood",
        "identity_public",
        "identity_extremes",
        "attribute",
        "verbatim",
        "exposure",
    )
    holdout: str | None = None
    propensity: Propensity = Propensity()
    shadow: ShadowGame = ShadowGame()
    intruders: dict[str, Intruder] = Field(default_factory=dict)
    targets: tuple[str, ...] = ()
    table_ways: tuple[Literal[1, 2, 3], ...] = (1, 2)
    table_columns: tuple[str, ...] = ()
    most_tables: int = Field(default=500, ge=1)
    subgroups: str | None = None
    budget: float | None = Field(default=None, gt=0)

    @field_validator("utility", "risk", mode="before")
    @classmethod
    def _not_removed(cls, names: Any) -> Any:
        given = names if isinstance(names, list | tuple) else ()
        gone = [name for name in given if isinstance(name, str) and name in REMOVED]
        if gone:
            raise ValueError(" ".join(f"{name}: {REMOVED[name]}" for name in gone))
        return names

    @model_serializer(mode="wrap")
    def _told(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Return the settings; without a budget they are written as they always were."""
        found: dict[str, Any] = handler(self)
        return found if self.budget is not None else {name: said for name, said in found.items() if name != "budget"}

    @field_validator("rows")
    @classmethod
    def _known_rows(cls, rows: str) -> str:
        if rows not in ("aligned", "none") and Path(rows).suffix.lower() not in (".csv", ".parquet"):
            raise ValueError("must be aligned, none, or a .csv or .parquet file with the row order of each copy")
        return rows


class ReleaseSettings(Publication, Thresholds):
    """The format of the public files (``same``: as the data came in), the gate's thresholds, and who publishes.

    Parameters
    ----------
    draws
        Over how many draws of the mechanism risks are averaged; 20 by default, 12 in files of 20,000 records or more.
    recorded_in
        Where releases are recorded, so that all releases of the same data are judged together: a folder, or ``none``.
        Default: what the environment variable ``SYNTHDP_REGISTER`` says, else ``synthdp-register`` beside the data.
    escape_formulas
        In CSV and TSV files, put ``'`` before text that starts with = + - @ or a tab, which a spreadsheet would run as
        a formula.
    """

    format: AnyFormat = "csv"
    recorded_in: str | None = None
    draws: int = Field(default=20, ge=12)
    escape_formulas: bool = False

    @model_serializer(mode="wrap")
    def _told(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Return the settings without words that came later and are not used: runs begun before can then go on."""
        found: dict[str, Any] = handler(self)
        later = {*Publication.model_fields, "limits"}
        return {name: said for name, said in found.items() if said or name not in later}

    def format_of(self, data: Path) -> str:
        """Return the format of the public files, given the confidential one."""
        return io.format_like(data) if self.format == "same" else self.format


class Tuning(Settings):
    """What ``tune`` may change, what it aims at, and how sure its answer has to be.

    Parameters
    ----------
    vary
        What is varied: ``masks`` (their strength by column and risk group), ``model``, ``copies``, ``mask_draw``,
        ``coarsening`` (of kept keys, as ``check`` offers it).
    goal
        What is made as large as possible. ``panel``: the overlap of intervals in small random regressions and, where
        there are any, in the analyses; ``analyses``: in the analyses alone; ``pmse``, ``tables``: how little copies can
        be told from the original, as a whole or in tables.
    confirm
        On how many fresh draws the answer is confirmed.
    holds
        Which share of fresh judgements has to stay within every limit.
    """

    vary: tuple[Literal["masks", "model", "copies", "mask_draw", "coarsening"], ...] = Field(
        default=("masks", "model", "copies", "mask_draw", "coarsening"), min_length=1
    )
    goal: Literal["panel", "analyses", "pmse", "tables"] = "panel"
    confirm: int = Field(default=20, ge=12)
    holds: float = Field(default=0.95, ge=0.5, lt=1)


class Promise(Settings):
    """What ``tune`` found, written into tuned.yaml: ``run`` says whether it got what was promised.

    Parameters
    ----------
    trials
        How many candidates were judged.
    bits
        What the choice itself can tell of the data, at most: log₂ of the number of candidates.
    confirmed
        On how many fresh draws the answer was confirmed.
    holds
        Which share of fresh judgements is expected to stay within every limit.
    use
        The expected usefulness, as ``tuning.goal`` measures it.
    overlap
        The expected mean overlap of intervals of the panel.
    risks
        The expected figure of each limit: the upper end of its interval, the worst intruder's.
    """

    trials: int = Field(ge=1)
    bits: float = Field(ge=0)
    confirmed: int = Field(ge=1)
    holds: float = Field(ge=0.5, lt=1)
    use: float | None = None
    overlap: float | None = None
    risks: dict[str, float] = Field(default_factory=dict)


class Config(Settings):
    """A whole run, frozen.

    Parameters
    ----------
    version
        Of the language of this file.
    data
        Where the confidential file is, how it is written, and the columns of the survey's design.
    variables
        What each column is and what happens to it; columns that are absent are inferred and kept.
    constraints
        Conditions over columns that hold in every record of every copy, such as ``yrs_married <= age - 12``.
    groups
        Who needs more protection: records with few neighbours on the keys, or those that rules name.
    masks
        How much of each replaced column is hidden; a replaced column without one is drawn from the model alone.
    masks_by_group
        Other masks for the records of a risk group; each replaces the column's whole block.
    synthesis
        How the copies are drawn, by which model, and how many.
    analyses
        What users of the file will want to estimate; each is compared with the original.
    evaluation
        How the copies are judged.
    release
        The format of the public files, the limits that the gate holds them to, and how they are cited.
    methods
        For ``compare``: by name, a synthesis block, or a mapping of whole blocks that replace those of the config.
    tuning
        For ``tune``: what may be varied, what is aimed at, how sure the answer has to be.
    tuned
        Written by ``tune``: what a run of these settings is expected to come to, and what choosing them has cost.
    engine
        Where the work runs: this machine, or a Dask cluster. The copies do not depend on it.
    seed
        A key to the random numbers, to be kept as secret as the data; by default 128 bits at random.

    Examples
    --------
    >>> from synthdp.config import parse
    >>> config = parse({"data": {"path": "original.csv"}, "variables": {"age": {"role": "replace", "key": True}}})
    >>> config.synthesis.copies
    5
    """

    version: Literal[1] = 1
    data: Data
    variables: dict[str, Variable] = Field(default_factory=dict)
    constraints: tuple[str, ...] = ()
    groups: AnyGroups = Neighbours()
    masks: dict[str, AnyMask] = Field(default_factory=dict)
    masks_by_group: dict[str, dict[str, AnyMask]] = Field(default_factory=dict)
    synthesis: AnySynthesis = DaMi()
    analyses: tuple[Analysis, ...] = ()
    evaluation: EvaluationSettings = EvaluationSettings()
    release: ReleaseSettings = ReleaseSettings()
    methods: dict[str, dict[str, Any]] = Field(default_factory=dict)
    tuning: Tuning = Tuning()
    tuned: Promise | None = None
    engine: AnyEngine = Local()
    seed: int | None = Field(default=None, ge=0, repr=False)

    @model_serializer(mode="wrap")
    def _told(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Return the settings; without methods to compare, tuning and engine they are written as they always were."""
        found: dict[str, Any] = handler(self)
        plain = {"methods": not self.methods, "tuning": self.tuning == Tuning(), "tuned": self.tuned is None}
        plain["engine"] = self.engine == Local()
        return {name: said for name, said in found.items() if not plain.get(name, False)}

    @property
    def limits(self) -> Thresholds:
        """The limits of the gate; off by default for differentially private methods, whose claim they would void.

        A claim that bounds nothing is none to protect: beyond an ε of 20 they are judged like other methods.
        """
        written = self.release.model_fields_set
        off = (budget := self.synthesis.budget) is not None and budget <= LARGEST_EPSILON
        names = [name for name in Thresholds.model_fields if name in written or not off]
        return OFF.model_copy(update={name: getattr(self.release, name) for name in names})

    def request(self) -> Request:
        """Return what the measures need to know beside the files."""
        asked = self.evaluation
        return Request(
            targets=asked.targets,
            analyses=self.analyses,
            propensity=asked.propensity,
            intruders=asked.intruders,
            ways=asked.table_ways,
            columns=asked.table_columns,
            most=asked.most_tables,
            subgroups=asked.subgroups,
            shadow=asked.shadow.model_dump(),
            budget=asked.budget,
        )


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of the config."""
    schema = Config.model_json_schema()
    blocks = [schema["properties"][name] for name in ("groups", "synthesis", "engine")]
    blocks += [one["properties"]["model"] for one in schema["$defs"].values() if "model" in one.get("properties", {})]
    for block in (one for one in blocks if "oneOf" in one):
        # a block without `method:` may fit several methods; the default one is meant
        block["anyOf"] = block.pop("oneOf")
    return describe(schema)
