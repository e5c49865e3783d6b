"""The intruders who point at rows: whom they can find, and how they go about it."""

from typing import cast

import numpy as np

from synthdp.errors import InputError
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.measure import IDENTITY_LIMITS, MATCHING_LIMITS, Finding, Need, Plain
from synthdp.evaluation.risk.bayes import evaluate_persons
from synthdp.evaluation.risk.channel import MaskDraw
from synthdp.evaluation.risk.extremes import evaluate_extremes
from synthdp.evaluation.risk.identity import evaluate_identity
from synthdp.evaluation.risk.likelihood import evaluate_likelihood
from synthdp.evaluation.risk.linking import evaluate_linked
from synthdp.evaluation.risk.persons import persons_of
from synthdp.evaluation.risk.public import evaluate_public, learn_public

KEYS, TRACED = frozenset({Need.KEYS}), frozenset({Need.KEYS, Need.ROWS})


def mask_draw_of(files: Comparison) -> MaskDraw | None:
    """Return when W was drawn: as the release says, per copy where nothing is known of it, None for no W."""
    known = files.mask_draw if files.rule is not None or files.mask_draw is not None else "per_copy"
    return cast(MaskDraw | None, known)


def _informed(files: Comparison, rng: np.random.Generator) -> Finding:
    if files.making is None or files.making.intruder is None:
        raise InputError("identity_bayes: needs to know how the copies are made.")
    return cast(Finding, files.making.intruder(files, rng=rng, targets=files.targets))


def _persons(files: Comparison, rng: np.random.Generator) -> Finding:
    person = persons_of(files)
    if person is None:
        raise InputError("identity_persons: needs people who have several rows.")
    told = learn_public(files, mask_draw=mask_draw_of(files), rng=rng)
    # the same persons in every draw
    whom = None if files.targets is None else np.unique(person[files.targets])
    return evaluate_persons(files, told, person, rng=rng, targets=whom)


EACH_COPY = Plain(
    "identity",
    "Whom can an intruder find who lists the rows within a tolerance of a person's keys in every copy?",
    lambda files, rng: evaluate_identity(files, averaged=False, rng=rng),
    TRACED,
    MATCHING_LIMITS,
    "Matching each copy",
    "The intruder knows that a person is in the file, and knows that person's key columns exactly. In every copy "
    "they look for records that agree (same category, numbers within the tolerance), and they trust the records "
    "that come up most often over all copies.",
    insists=True,
)
AVERAGED = Plain(
    "identity_averaged",
    "Whom can an intruder find who first averages the copies, which undoes part of the noise?",
    lambda files, rng: evaluate_identity(files, averaged=True, rng=rng),
    TRACED,
    MATCHING_LIMITS,
    "Averaging the copies first",
    "The intruder has lined the copies up record by record (the kept columns, being the same in all copies, make "
    "that possible), averages the values of each record to wash out some of the noise, and then matches as above.",
    insists=True,
)
LINKED = Plain(
    "identity_linked",
    "Whom can an intruder find who must first link the rows of the copies through the kept columns?",
    lambda files, rng: evaluate_linked(files, rng=rng),
    KEYS,
    MATCHING_LIMITS,
    "Lining up, then averaging",
    "As above, but nobody tells the intruder which rows of different copies belong together: they find out through "
    "the columns that were kept, and choose at random where several rows agree.",
)
LIKELIHOOD = Plain(
    "identity_likelihood",
    "Whom can an intruder find who knows how released values scatter around true ones, key by key?",
    lambda files, rng: evaluate_likelihood(files, rng=rng),
    TRACED,
    IDENTITY_LIMITS,
    "Most likely record",
    "The intruder knows how far released values usually lie from true ones (at worst: as measured here) and points "
    "at the record whose released values are most likely for the person they look for. No tolerance enters, so no "
    "mask can be shaped to slip past it.",
    insists=True,
)
PUBLIC = Plain(
    "identity_public",
    "Whom can an intruder find who has only the public files: regressions on kept columns, the spread between "
    "copies, and all keys jointly?",
    lambda files, rng: evaluate_public(files, rng=rng, mask_draw=mask_draw_of(files), targets=files.targets),
    TRACED,
    IDENTITY_LIMITS,
    "Public files only",
    "The intruder has nothing but the public files: they predict each key from the kept columns, learn from the "
    "spread between copies how far released values lie from true ones, and weigh all keys jointly.",
    insists=True,
)
EXTREMES = Plain(
    "identity_extremes",
    "Does the largest value in the copies belong to the person whose true value is the largest?",
    lambda files, rng: evaluate_extremes(files, rng=rng, mask_draw=mask_draw_of(files) or "per_copy"),
    TRACED,
    IDENTITY_LIMITS,
    "Looking for extremes",
    "The intruder looks for the person who is known to have the largest or smallest value in truth, among the "
    "largest and smallest values of the copies.",
    insists=True,
)
BAYES = Plain(
    "identity_bayes",
    "Whom can an intruder find who knows mask, model and parameters?",
    _informed,
    TRACED | {Need.PLAN},
    IDENTITY_LIMITS,
    "Knowing mask and model",
    "The intruder knows the mask, the model and its parameters, and computes from all copies how probable each "
    "record is.",
    insists=True,
)
PERSONS = Plain(
    "identity_persons",
    "Whom can an intruder find who knows the keys of all rows of a person, and looks for them together?",
    _persons,
    TRACED,
    IDENTITY_LIMITS,
    "All rows of a person",
    "The intruder knows the keys of all rows that belong to one person, and looks for them together.",
)
