"""A request is answered: checked without the data, paid, counted with noise, and put into words."""

import hashlib
import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from synthdp.dp.noise import bootstrap_generator
from synthdp.privacy.events import Event
from synthdp.privacy.guarantees import Adjacency, Guarantee
from synthdp.privacy.ledger import Entry, Ledger
from synthdp.privacy.mechanisms import DiscreteLaplace, Secure, Sensitivity, Source
from synthdp.table.microdata import Microdata
from synthdp.verification.believing import Belief, answer_of
from synthdp.verification.blocks import agreements, dealt
from synthdp.verification.imagined import Variables, check, declared
from synthdp.verification.request import Overlap, Question, Request

DIGITS = 4


@dataclass(frozen=True, repr=False)
class Answer:
    """What goes back to the data user: noisy counts, and what follows from them. Nothing in it is confidential.

    Parameters
    ----------
    request
        What was asked.
    counts
        The noisy counts, one for each question.
    noise
        How they were made noisy.
    adjacency, source
        Which files are neighbours, and where the noise came from.
    records
        How many records there are, where that is public.
    """

    request: Request
    counts: tuple[int, ...]
    noise: DiscreteLaplace
    adjacency: Adjacency
    source: str
    records: int | None

    def contents(self) -> dict[str, Any]:
        """Return the answer as the file has it."""
        return {
            "version": 1,
            "request": hashlib.sha256(self.request.text().encode()).hexdigest(),
            "model": self.request.model,
            "formula": self.request.formula,
            "blocks": self.request.blocks,
            "noise": {"law": "integer Laplace", "scale": self.noise.scale, "on": "each count of blocks"},
            "answers": self.answers(),
            "privacy": self.guarantee().section(),
            "notes": self.notes(),
        }

    def text(self) -> str:
        """Return the answer as the text of its file."""
        return f"{json.dumps(self.contents(), indent=1, ensure_ascii=False)}\n"

    def guarantee(self) -> Guarantee:
        """Return what is claimed."""
        return Guarantee(self.request.epsilon, 0.0, self.adjacency, self.source, self.event())

    def event(self) -> Event:
        """Return what was done, for the accountants."""
        return self.noise.event()

    def answers(self) -> list[dict[str, Any]]:
        """Return what is believed of each question, and the counts that it rests on."""
        left, found = list(self.counts), []
        for question in self.request.questions:
            words = question.counted()
            found.append(self._answer(question, left[: len(words)]))
            left = left[len(words) :]
        return found

    def lines(self) -> list[str]:
        """Return the answers as sentences."""
        return [
            f"{found['answer']}: {found['statement']} (probability {found['probability']:.2f}, "
            f"before {found['probability_before']:.2f})"
            for found in self.answers()
        ]

    def notes(self) -> list[str]:
        """Return what a reader should know; none of it depends on a record."""
        found = [
            "a block in which the model cannot be fitted, or in which a level is missing, counts as a no",
            "r is how often an estimate from one block would agree, not the probability that the statement is true",
        ]
        if any(isinstance(question, Overlap) for question in self.request.questions):
            found.append("an overlap is judged as if both intervals were equally wide")
        if self.records is not None:
            found.append(f"a block holds about {self.records // self.request.blocks:,} records")
        if self.noise.sd > self.request.blocks / 4:
            found.append(
                f"the noise has sd {self.noise.sd:.3g} on counts of up to {self.request.blocks}: the answers are "
                "mostly noise; raise epsilon, ask less at once, or use more blocks"
            )
        return found

    def _answer(self, question: Question, counts: list[int]) -> dict[str, Any]:
        beliefs = [Belief(count, self.request.blocks, self.noise.scale) for count in counts]
        if isinstance(question, Overlap):
            probability = beliefs[0].overlapping(question.above, question.level)
            before = beliefs[0].overlapping_before(question.above, question.level)
        else:
            probability = math.prod(belief.more_than(0.5) for belief in beliefs)
            before = 0.5 ** len(beliefs)
        return {
            "term": question.term,
            "ask": question.ask,
            "statement": question.statement(),
            "counts": [
                {"of": words, "noisy": belief.noisy, "r": _posterior(belief)}
                for words, belief in zip(question.counted(), beliefs, strict=True)
            ],
            "probability": round(probability, DIGITS),
            "probability_before": round(before, DIGITS),
            "answer": answer_of(probability),
        }


def verify_analysis(
    request: Request,
    data: Microdata,
    variables: Variables,
    *,
    adjacency: Adjacency = "replace",
    source: Source | None = None,
    ledger: Ledger | None = None,
) -> tuple[Answer, Entry | None]:
    """Answer a request from the confidential records; the charge comes first.

    Parameters
    ----------
    request, variables
        What is asked, and the declared schema; the request is checked against it before a record is looked at.
    data
        The confidential records.
    adjacency
        ``replace``: the number of records is public; ``add_remove``: it is not.
    source
        Of noise; secure by default.
    ledger
        Charged before anything is computed.
    """
    terms = check(request, variables)
    chosen = Secure() if source is None else source
    noise = noise_of(request, adjacency)
    entry = None
    if ledger is not None:
        entry = ledger.charge(what_of(request), epsilon=request.epsilon, adjacency=adjacency, source=chosen.name)
    replacing = adjacency == "replace"
    places = dealt(len(data), request.blocks, replacing=replacing, rng=bootstrap_generator(chosen))
    counts = agreements(request, declared(data, request.columns(), variables), terms, places)
    noisy = noise.release(counts, source=chosen)
    found = Answer(
        request=request,
        counts=tuple(int(count) for count in np.asarray(noisy)),
        noise=noise,
        adjacency=adjacency,
        source=chosen.name,
        records=len(data) if replacing else None,
    )
    return found, entry


def noise_of(request: Request, adjacency: Adjacency) -> DiscreteLaplace:
    """Return the noise: a record is in one block, and moves each count by one at most."""
    counts = sum(len(question.counted()) for question in request.questions)
    return DiscreteLaplace.calibrated(Sensitivity(float(counts), "l1", adjacency), epsilon=request.epsilon)


def what_of(request: Request) -> str:
    """Return what is released, in words for the ledger."""
    digest = hashlib.sha256(request.text().encode()).hexdigest()
    return f"{len(request.questions)} verifications of a {request.model} (request {digest[:12]})"


def _posterior(belief: Belief) -> dict[str, float]:
    low, high = belief.interval()
    return {"mean": round(belief.mean(), DIGITS), "low": round(low, DIGITS), "high": round(high, DIGITS)}
