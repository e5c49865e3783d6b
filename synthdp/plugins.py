"""Everything that has a name in a config or on the command line, found by that name: built in, or installed beside us.

A plugin is a distribution with entry points in one of the groups ``synthdp.masks``, ``.models``, ``.synthesizers``,
``.measures``, ``.rules``, ``.analyses``, ``.formats`` and ``.commands``. A name may have a part before a dot that says
where it belongs: ``sequential.cart`` is the model ``cart`` of ``method: sequential``, ``risk.identity`` the measure
``identity`` of ``evaluation.risk``.

Built-ins are entry points too, of the same form and loaded in the same way. They stand in the table below and not in
pyproject.toml because installed metadata are written once, on installing: a source tree would not see its own changes.
Nothing is imported before it is asked for, so that ``synthdp --help`` stays quick.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial, reduce
from importlib import metadata
from importlib.metadata import EntryPoint
from operator import or_
from typing import Annotated, Any, Literal, get_args

from synthdp.errors import InputError

Kind = Literal["masks", "models", "synthesizers", "measures", "rules", "analyses", "formats", "commands"]
KINDS: tuple[Kind, ...] = get_args(Kind)

BUILT_IN: Mapping[Kind, Mapping[str, str]] = {
    "masks": {
        "gaussian": "synthdp.masking.gaussian:Gaussian",
        "shifted_normal": "synthdp.masking.categorical:ShiftedNormal",
        "transition": "synthdp.masking.categorical:Transition",
    },
    "models": {
        "regression": "synthdp.imputation.regression.association:Regression",
        "auto": "synthdp.imputation.auto.model:Auto",
        "cart": "synthdp.imputation.trees.masked:MaskedCart",
        "copula": "synthdp.imputation.copula.model:Copula",
        "pymc": "synthdp.imputation.pymc.program:Pymc",
        "sequential.cart": "synthdp.imputation.trees.cart:Cart",
        "sequential.regression": "synthdp.imputation.regression.forward:NormLogit",
    },
    "synthesizers": {
        "da_mi": "synthdp.synthesis.imputed:DaMi",
        "mi": "synthdp.synthesis.imputed:Mi",
        "sequential": "synthdp.synthesis.sequential:Sequential",
        "ipf": "synthdp.synthesis.loglinear.ipf:Ipf",
        "catall": "synthdp.synthesis.loglinear.catall:Catall",
        "dp_histogram": "synthdp.synthesis.private.histograms:DpHistogram",
        "dp_sparse_histogram": "synthdp.synthesis.private.histograms:DpSparseHistogram",
        "dp_exponential": "synthdp.synthesis.private.histograms:DpExponential",
        "dp_margins": "synthdp.synthesis.private.columnwise:DpMargins",
        "dp_kde": "synthdp.synthesis.private.curve:DpKde",
        "dp_mst": "synthdp.synthesis.private.mst:DpMst",
        "dp_da_mi": "synthdp.synthesis.private.masked.method:DpDaMi",
        "local_noise": "synthdp.synthesis.private.columnwise:LocalNoise",
        "k_anonymity": "synthdp.synthesis.maskings.classes:KAnonymity",
        "pram": "synthdp.synthesis.maskings.pram:Pram",
        "k_pram": "synthdp.synthesis.maskings.grouped:KPram",
        "k_noise": "synthdp.synthesis.maskings.grouped:KNoise",
        "noise": "synthdp.synthesis.maskings.noise:Noise",
        "microaggregation": "synthdp.synthesis.maskings.microaggregation:Microaggregation",
        "rank_swap": "synthdp.synthesis.maskings.ranks:RankSwap",
        "top_bottom": "synthdp.synthesis.maskings.ranks:TopBottom",
        "local_suppression": "synthdp.synthesis.maskings.suppression:LocalSuppression",
    },
    # those of "gate" are asked by the gate alone, where a person has several rows
    "measures": {
        "utility.pmse": "synthdp.evaluation.measures.usefulness:PMSE",
        "utility.panel": "synthdp.evaluation.measures.usefulness:PANEL",
        "utility.analyses": "synthdp.evaluation.measures.usefulness:ANALYSES",
        "utility.tables": "synthdp.evaluation.measures.usefulness:TABLES",
        "utility.k_marginal": "synthdp.evaluation.measures.usefulness:K_MARGINAL",
        "utility.distributions": "synthdp.evaluation.measures.usefulness:DISTRIBUTIONS",
        "utility.correlations": "synthdp.evaluation.measures.usefulness:CORRELATIONS",
        "utility.prediction": "synthdp.evaluation.measures.usefulness:PREDICTION",
        "utility.moves": "synthdp.evaluation.measures.moved:MOVES",
        "risk.identity": "synthdp.evaluation.measures.identity:EACH_COPY",
        "risk.identity_averaged": "synthdp.evaluation.measures.identity:AVERAGED",
        "risk.identity_linked": "synthdp.evaluation.measures.identity:LINKED",
        "risk.identity_likelihood": "synthdp.evaluation.measures.identity:LIKELIHOOD",
        "risk.identity_public": "synthdp.evaluation.measures.identity:PUBLIC",
        "risk.identity_extremes": "synthdp.evaluation.measures.identity:EXTREMES",
        "risk.identity_bayes": "synthdp.evaluation.measures.identity:BAYES",
        "risk.verbatim": "synthdp.evaluation.measures.standing_out:VERBATIM",
        "risk.memorised": "synthdp.evaluation.measures.standing_out:MEMORISED",
        "risk.exposure": "synthdp.evaluation.measures.standing_out:EXPOSURE",
        "risk.attribute": "synthdp.evaluation.measures.disclosure:ATTRIBUTE",
        "risk.membership": "synthdp.evaluation.measures.disclosure:MEMBERSHIP",
        "risk.membership_shadow": "synthdp.evaluation.measures.disclosure:SHADOW",
        "risk.singling": "synthdp.evaluation.measures.disclosure:SINGLING",
        "risk.linkage": "synthdp.evaluation.measures.disclosure:LINKAGE",
        "risk.linkability": "synthdp.evaluation.measures.disclosure:LINKABILITY",
        "risk.inference": "synthdp.evaluation.measures.disclosure:INFERENCE",
        "risk.anonymity": "synthdp.evaluation.measures.standing_out:ANONYMITY",
        "risk.population": "synthdp.evaluation.measures.standing_out:POPULATION",
        "risk.odds": "synthdp.evaluation.measures.moved:ODDS",
        "risk.group_size": "synthdp.evaluation.measures.moved:GROUP_SIZE",
        "gate.identity_persons": "synthdp.evaluation.measures.identity:PERSONS",
    },
    "rules": {
        "reiter2003": "synthdp.inference.rules.synthetic:REITER2003",
        "rubin1987": "synthdp.inference.rules.imputed:RUBIN1987",
        "raghunathan2003": "synthdp.inference.rules.synthetic:RAGHUNATHAN2003",
        "reiter2004": "synthdp.inference.rules.imputed:REITER2004",
        "rubin2003": "synthdp.inference.rules.imputed:RUBIN2003",
        "reiter2003_nested": "synthdp.inference.rules.synthetic:REITER2003_NESTED",
        "raab2016": "synthdp.inference.rules.synthetic:RAAB2016",
        "raab2016_proper": "synthdp.inference.rules.synthetic:RAAB2016_PROPER",
        "raab2016_sample": "synthdp.inference.rules.synthetic:RAAB2016_SAMPLE",
        "raab2016_sample_proper": "synthdp.inference.rules.synthetic:RAAB2016_SAMPLE_PROPER",
        "mean_se": "synthdp.inference.rules.synthetic:MEAN_SE",
    },
    "analyses": {
        "ols": "synthdp.inference.models.builtin:OLS",
        "logit": "synthdp.inference.models.builtin:LOGIT",
        "probit": "synthdp.inference.models.builtin:PROBIT",
        "poisson": "synthdp.inference.models.builtin:POISSON",
        "mean": "synthdp.inference.models.builtin:MEAN",
        "proportion": "synthdp.inference.models.builtin:PROPORTION",
        "quantile": "synthdp.inference.models.builtin:QUANTILE",
        "table": "synthdp.inference.models.builtin:TABLE",
        "count": "synthdp.inference.models.builtin:COUNT",
        "correlation": "synthdp.inference.models.builtin:CORRELATION",
        "wls": "synthdp.inference.models.builtin:WLS",
        "gaussian": "synthdp.inference.models.builtin:GAUSSIAN",
        "binomial": "synthdp.inference.models.builtin:BINOMIAL",
        "gamma": "synthdp.inference.models.builtin:GAMMA",
        "inverse_gaussian": "synthdp.inference.models.builtin:INVERSE_GAUSSIAN",
        "tweedie": "synthdp.inference.models.builtin:TWEEDIE",
        "negative_binomial": "synthdp.inference.models.builtin:NEGATIVE_BINOMIAL",
        "multinomial": "synthdp.inference.models.builtin:MULTINOMIAL",
        "ordered_logit": "synthdp.inference.models.builtin:ORDERED_LOGIT",
        "ordered_probit": "synthdp.inference.models.builtin:ORDERED_PROBIT",
        "cox": "synthdp.inference.models.builtin:COX",
    },
    "formats": {
        "csv": "synthdp.table.io.text:CSV",
        "tsv": "synthdp.table.io.text:TSV",
        "parquet": "synthdp.table.io.columnar:PARQUET",
        "feather": "synthdp.table.io.columnar:FEATHER",
        "dta": "synthdp.table.io.statistical_writing:DTA",
        "sav": "synthdp.table.io.statistical_writing:SAV",
        "xpt": "synthdp.table.io.statistical_writing:XPT",
    },
    "commands": {
        "demo": "synthdp.cli.commands:demo",
        "init": "synthdp.cli.commands:init",
        "check": "synthdp.cli.commands:check",
        "run": "synthdp.cli.commands:run",
        "evaluate": "synthdp.cli.commands:evaluate",
        "compare": "synthdp.cli.comparing:compare",
        "tune": "synthdp.cli.tuning:tune",
        "explore": "synthdp.cli.exploring:explore",
        "analyse": "synthdp.cli.releases:analyse",
        "dp": "synthdp.cli.private:app",
        "verify": "synthdp.cli.releases:verify",
        "verify-analysis": "synthdp.cli.verifying:verify_analysis",
        "sign": "synthdp.cli.releases:sign",
        "schema": "synthdp.cli.commands:schema",
    },
}

# what an object of each kind must have; a class of settings must also call itself by the name it is registered under
REQUIRED: Mapping[Kind, tuple[str, ...]] = {
    "masks": ("model_fields", "bind", "event", "describe", "suits", "depends_on_neighbours"),
    "models": ("model_fields", "problems"),
    "synthesizers": ("model_fields", "problems", "synthesize", "design"),
    "measures": ("name", "asks", "needs", "limits", "take"),
    "rules": ("name", "spread", "fewest", "reasons", "formula"),
    "analyses": ("name", "problem"),
    "formats": ("name", "endings", "read", "write"),
    "commands": (),
}

# what an object of a class that is registered nowhere must have besides
OWN: Mapping[tuple[Kind, str], tuple[str, ...]] = {
    ("models", ""): ("fit", "scale"),
    ("models", "sequential"): ("prepare",),
}


@cache
def entries(kind: Kind) -> Mapping[str, EntryPoint]:
    """Return the entry points of a kind by name, built-ins first; nothing is imported.

    Raises
    ------
    InputError
        If two distributions register the same name.

    Examples
    --------
    >>> list(entries("masks"))[:3]
    ['gaussian', 'shifted_normal', 'transition']
    """
    group = f"synthdp.{kind}"
    found = {name: EntryPoint(name, value, group) for name, value in BUILT_IN[kind].items()}
    for entry in sorted(metadata.entry_points(group=group), key=lambda one: (origin(one), one.name)):
        if entry.name in found:
            raise InputError(
                f"{group}: {origin(entry)} and {origin(found[entry.name])} both register {entry.name!r}; "
                "uninstall one of them."
            )
        found[entry.name] = entry
    words = [name.rpartition(".")[2] for name in found]
    if kind == "measures" and len(set(words)) < len(words):
        twice = next(name for name in found if words.count(name.rpartition(".")[2]) > 1 and name not in BUILT_IN[kind])
        raise InputError(f"{group}: {origin(found[twice])} registers {twice!r}, and there is a measure of that name.")
    return found


def names(kind: Kind, of: str = "") -> tuple[str, ...]:
    """Return the names of a kind without importing anything, those before a dot being ``of``.

    Examples
    --------
    >>> names("models", "sequential")[:2]
    ('cart', 'regression')
    """
    split = [name.rpartition(".") for name in entries(kind)]
    return tuple(last for first, _, last in split if first == of)


def outside(kind: Kind, of: str = "") -> tuple[str, ...]:
    """Return the names that plugins bring."""
    return tuple(name for name in names(kind, of) if (f"{of}.{name}" if of else name) not in BUILT_IN[kind])


def load(kind: Kind, name: str) -> Any:
    """Return what is registered under a name; KeyError where nothing is.

    Raises
    ------
    InputError
        If a plugin cannot be imported, or is not what its kind must be: which distribution, and why.
    """
    return _loaded(entries(kind)[name], kind)


@dataclass(frozen=True)
class Registry(Mapping[str, Any]):
    """Everything of a kind by name, each loaded when it is looked up; see :func:`names` for ``of``.

    Examples
    --------
    >>> Registry("masks")["gaussian"](sd=2).describe()
    "Gaussian noise, sd 2 of the column's own sd"
    """

    kind: Kind
    of: str = ""

    def __getitem__(self, name: str) -> Any:
        return load(self.kind, f"{self.of}.{name}" if self.of else name)

    def __iter__(self) -> Iterator[str]:
        return iter(names(self.kind, self.of))

    def __len__(self) -> int:
        return len(names(self.kind, self.of))


def union(kind: Kind, of: str = "", default: str | None = None) -> Any:
    """Return the type of a block of settings that names one of a kind in ``method:``; without it, the default.

    Every class says in a ``Literal`` how it is called, so that YAML, Python and the JSON Schema have the same words. In
    Python an object will do in place of a block, also one of a class that is registered nowhere.
    """
    from pydantic import Discriminator, Field, Tag, WrapSerializer, WrapValidator  # what must start quickly imports us

    classes = Registry(kind, of)
    ways = WrapValidator(partial(_or_own, kind, of)), WrapSerializer(partial(_in_words, kind, of))
    if default is None:
        return Annotated[reduce(or_, classes.values()), Field(discriminator="method"), *ways]

    def choose(value: Any) -> str:
        found = value.get("method") if isinstance(value, Mapping) else getattr(value, "method", None)
        return default if found is None else str(found)

    tagged = [Annotated[one, Tag(name)] for name, one in classes.items()]
    return Annotated[reduce(or_, tagged), Discriminator(choose), *ways]


def _or_own(kind: Kind, of: str, value: Any, validate: Callable[[Any], Any]) -> Any:
    """Return an object of a class of the user's own as it is, which needs no name; validate everything else."""
    if not hasattr(type(value), "model_fields") or type(value) in Registry(kind, of).values():
        return validate(value)
    lacks = [name for name in (*REQUIRED[kind], *OWN.get((kind, of), ())) if not hasattr(type(value), name)]
    if lacks or type(value) in (load(kind, name) for name in entries(kind)):
        raise ValueError(
            f"an object of class {type(value).__name__} does not belong here"
            + (f": it lacks {', '.join(lacks)}" if lacks else "")
        )
    return value


def _in_words(kind: Kind, of: str, value: Any, serialize: Callable[[Any], Any], info: Any) -> Any:
    """Return the settings of an object: pydantic warns of classes that it has not been told of."""
    known = not hasattr(value, "model_dump") or type(value) in Registry(kind, of).values()
    return serialize(value) if known else value.model_dump(mode=info.mode)


def origin(entry: EntryPoint) -> str:
    """Return the distribution that an entry point is of, with its version."""
    return "synthdp itself" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"


@cache
def _loaded(entry: EntryPoint, kind: Kind) -> Any:
    where = f"plugin {origin(entry)}: {entry.name} of {entry.group} ({entry.value})"
    try:
        found = entry.load()
    except InputError:  # a plugin that builds on another one says itself what is wrong
        raise
    except Exception as error:
        if entry.dist is None:
            raise
        raise InputError(
            f"{where} cannot be loaded: {type(error).__name__}: {_line(error)}. Repair the package or uninstall it."
        ) from None
    if entry.dist is not None and (why := _wrong(found, entry.name.rpartition(".")[2], kind)):
        raise InputError(f"{where} {why}. Repair the package or uninstall it.")
    return found


def _line(error: Exception) -> str:
    return " ".join(str(error).split()) or "no reason given"


def _wrong(found: Any, name: str, kind: Kind) -> str | None:
    lacks = [attribute for attribute in REQUIRED[kind] if not hasattr(found, attribute)]
    if lacks:
        return f"is no {kind[:-1]}: it lacks {', '.join(lacks)}"
    if "model_fields" in REQUIRED[kind]:
        field = found.model_fields.get("method")
        called = None if field is None else field.default
    else:
        called = getattr(found, "name", name)
    return None if called == name else f"calls itself {called!r}"
