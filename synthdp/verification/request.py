"""What may be asked: a request read from a file that nobody trusts.

It is read as JSON of a few fields, none of which is a path or code, and at most 64 kB of it. The formula is patsy's,
less what learns from the records: a spline or a mean would be another one in every block, and so would the coefficient.
"""

import ast
import json
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, FiniteFloat, ValidationError, field_validator, model_validator

from synthdp.errors import InputError
from synthdp.inference.formulas import columns_used
from synthdp.table.schema import Settings
from synthdp.table.vocabulary import CONTRASTS, FUNCTIONS, check_length, shortened

WHERE = "request"
MOST_BYTES = 2**16
LONGEST = 2_000
LONGEST_NAME = 200
MOST_QUESTIONS = 10
MODELS = ("ols", "logit", "probit", "poisson", "mean")
# of numpy, what makes one number of one number; what looks at a whole column would differ from block to block
EACH_BY_ITSELF = frozenset({
    "abs", "absolute", "cbrt", "ceil", "clip", "equal", "exp", "expm1", "floor", "greater", "greater_equal", "less",
    "less_equal", "log", "log10", "log1p", "log2", "logical_and", "logical_not", "logical_or", "maximum", "minimum",
    "not_equal", "power", "round", "sign", "sqrt", "square", "where",
})  # fmt: skip
CALLED = frozenset({"C", "I", "Q", *FUNCTIONS, *CONTRASTS})
Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]


class _Asked(Settings):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=True)


class Within(_Asked):
    """Whether the confidential coefficient is within a margin of the synthetic one.

    Parameters
    ----------
    term
        The coefficient, as ``synthdp analyse`` calls it.
    estimate, margin
        The synthetic coefficient, and c of ± c.
    method
        ``sides``: two counts, of blocks above the lower and below the upper end, so that the answer is about the whole
        file however much single blocks scatter. ``fixed``: one count of blocks between the ends (Barrientos et al.
        2018). ``inflated``: the same for ± √M·c, as a block's estimate scatters √M times as much as that of the whole
        file (Lin and Reiter 2024). The last two are about blocks.

    Examples
    --------
    >>> Within(term="age", estimate=1.2, margin=0.3).statement()
    'the confidential coefficient of age lies within 0.3 of 1.2'
    """

    ask: Literal["within"] = "within"
    term: Name
    estimate: FiniteFloat
    margin: FiniteFloat = Field(gt=0)
    method: Literal["sides", "fixed", "inflated"] = "sides"

    def statement(self) -> str:
        """Return what is asked, as a sentence without its end."""
        if self.method == "sides":
            return f"the confidential coefficient of {self.term} lies within {self.margin:g} of {self.estimate:g}"
        wide = " times the root of the number of blocks" if self.method == "inflated" else ""
        return f"most blocks' coefficients of {self.term} lie within {self.margin:g}{wide} of {self.estimate:g}"

    def counted(self) -> tuple[str, ...]:
        """Return which blocks are counted, in words."""
        if self.method == "sides":
            return ("blocks above estimate - margin", "blocks below estimate + margin")
        return ("blocks within the margin",)


class Sign(_Asked):
    """Whether the confidential coefficient has the same sign."""

    ask: Literal["sign"] = "sign"
    term: Name
    sign: Literal["positive", "negative"]

    def statement(self) -> str:
        """Return what is asked, as a sentence without its end."""
        return f"the confidential coefficient of {self.term} is {self.sign}"

    def counted(self) -> tuple[str, ...]:
        """Return which blocks are counted, in words."""
        return (f"blocks whose estimate is {self.sign}",)


class Overlap(_Asked):
    """Whether the synthetic and the confidential interval overlap by more than a level.

    Parameters
    ----------
    low, high, level
        The synthetic interval, and its coverage.
    above
        The overlap asked about: the mean share of both intervals that they have in common, 1 where they are equal.
    """

    ask: Literal["overlap"] = "overlap"
    term: Name
    low: FiniteFloat
    high: FiniteFloat
    level: FiniteFloat = Field(default=0.95, ge=0.5, le=0.999)
    above: FiniteFloat = Field(default=0.5, ge=0, lt=1)

    @model_validator(mode="after")
    def _increasing(self) -> "Overlap":
        if self.low >= self.high:
            raise ValueError("low must be below high")
        return self

    def statement(self) -> str:
        """Return what is asked, as a sentence without its end."""
        return (
            f"the {self.level:.4g} intervals of {self.term} overlap by more than {self.above:g}, "
            f"where the synthetic one is {self.low:g} to {self.high:g}"
        )

    def counted(self) -> tuple[str, ...]:
        """Return which blocks are counted, in words."""
        return ("blocks above the middle of the synthetic interval",)


Question = Annotated[Within | Sign | Overlap, Field(discriminator="ask")]


class Request(_Asked):
    """A data user's request.

    Parameters
    ----------
    model, formula
        The analysis, as for ``synthdp analyse``: ols, logit, probit, poisson, or mean of columns.
    questions
        What is asked of it; they share ε.
    epsilon
        What the answer may cost; δ is 0.
    blocks
        M: into how many blocks the records are dealt.

    Examples
    --------
    >>> asked = {"model": "ols", "formula": "y ~ x", "epsilon": 1.0, "questions": [{"ask": "sign", "term": "x",
    ...     "sign": "positive"}]}
    >>> parse_request(asked).blocks
    25
    """

    version: Literal[1] = 1
    model: Literal["ols", "logit", "probit", "poisson", "mean"]
    formula: Annotated[str, Field(min_length=1, max_length=LONGEST)]
    questions: Annotated[tuple[Question, ...], Field(min_length=1, max_length=MOST_QUESTIONS)]
    epsilon: FiniteFloat = Field(gt=0, le=100)
    blocks: int = Field(default=25, ge=5, le=1000)

    @field_validator("questions", mode="before")
    @classmethod
    def _listed(cls, given: object) -> object:
        return tuple(given) if isinstance(given, list) else given

    @field_validator("formula")
    @classmethod
    def _plain(cls, formula: str) -> str:
        # Python reads ｏｐｅｎ as open; a formula that reads otherwise than it looks has no business here
        if unicodedata.normalize("NFKC", formula) != formula or not formula.isprintable():
            raise ValueError("has letters that look like others, or that cannot be seen; write it plainly")
        return formula

    def columns(self) -> tuple[str, ...]:
        """Return the columns that are named, the response first.

        Raises
        ------
        InputError
            When the formula is more than arithmetic, record by record.
        """
        if self.model == "mean":
            return tuple(dict.fromkeys(name.strip() for name in self.formula.split(",") if name.strip()))
        check_length(self.formula, WHERE)
        found = columns_used(self.formula, where=f"{WHERE}: formula")
        _check_calls(self.formula)
        return found

    def text(self) -> str:
        """Return the request as it was understood, the same for the same request."""
        return f"{json.dumps(self.model_dump(mode='json'), indent=1, ensure_ascii=False)}\n"


def read_request(path: Path) -> Request:
    """Return the request in a file.

    Raises
    ------
    InputError
        When it is not one; no message tells more of the file than what is in the request.
    """
    try:
        # a pipe or a device never ends, and opening a pipe waits for somebody to write into it
        if not path.is_file():
            raise OSError
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except (OSError, ValueError):
        raise InputError(f"{path}: the request cannot be read; give a JSON file.") from None
    if len(content) > MOST_BYTES:
        raise InputError(f"{path}: a request has at most {MOST_BYTES:,} bytes; this file has more.")
    return parse_request(_json(content))


def parse_request(given: Mapping[str, Any]) -> Request:
    """Return the request that a mapping describes."""
    if not isinstance(given, Mapping):
        raise InputError(f"{WHERE}: must be a JSON object with model, formula, questions and epsilon.")
    try:
        request = Request.model_validate(given)
    except ValidationError as error:
        raise InputError(*dict.fromkeys(_sentence(problem) for problem in error.errors())) from None
    request.columns()
    return request


def _json(content: bytes) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError("a name occurs twice")
        return found

    def refused(_word: str) -> None:
        raise ValueError("NaN and Infinity are no JSON")

    try:
        return json.loads(content.decode("utf-8"), object_pairs_hook=once, parse_constant=refused)
    except (ValueError, RecursionError, MemoryError):  # a JSON error, bytes that are no text, brackets without end
        raise InputError(f"{WHERE}: is not JSON, or holds a name twice; write one object with plain values.") from None


def _sentence(problem: Any) -> str:
    place = ".".join(str(part) for part in problem["loc"] if part not in ("within", "sign", "overlap"))[:LONGEST_NAME]
    if problem["type"] == "extra_forbidden":
        return f"{WHERE}: no such field: {shortened(place)}."
    said = str(problem["msg"]).removeprefix("Value error, ")[:300]
    said = f"{said[:1].lower()}{said[1:]}"
    return f"{WHERE}.{place}: {said}." if place else f"{WHERE}: {said}."


def _check_calls(formula: str) -> None:
    """Refuse functions that look at more than one record, and names of columns that are computed."""
    import patsy

    description = patsy.ModelDesc.from_formula(formula)
    terms = [*description.lhs_termlist, *description.rhs_termlist]
    for code in dict.fromkeys(factor.code for term in terms for factor in term.factors):
        for node in ast.walk(ast.parse(code, mode="eval")):
            if isinstance(node, ast.Attribute) and node.attr not in EACH_BY_ITSELF:
                raise InputError(f"{WHERE}: formula: 'np.{node.attr}' does not go record by record; leave it out.")
            if not isinstance(node, ast.Call):
                continue
            if isinstance(node.func, ast.Name) and node.func.id not in CALLED:
                raise InputError(f"{WHERE}: formula: {node.func.id!r} learns from the records; leave it out.")
            if isinstance(node.func, ast.Name) and node.func.id == "Q" and not _quoted(node):
                raise InputError(f'{WHERE}: formula: Q takes the name of one column, such as Q("my column").')


def _quoted(call: ast.Call) -> bool:
    alone = len(call.args) == 1 and not call.keywords
    return alone and isinstance(call.args[0], ast.Constant) and isinstance(call.args[0].value, str)
