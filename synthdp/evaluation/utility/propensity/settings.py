"""What a user may choose about the propensity measures."""

from typing import Literal

from pydantic import Field

from synthdp.schema import Settings

Model = Literal["logit", "logit_interactions", "cart", "boosting"]
NullKind = Literal["formula", "permutation", "pairs", "within_record"]


class Propensity(Settings):
    """How synthetic records are told from original ones, and what is expected when the synthesis is right.

    Parameters
    ----------
    models
        ``logit`` (main effects), ``logit_interactions`` (and products of every two columns), ``cart`` (a pruned
        classification tree, as rpart grows it), ``boosting`` (gradient boosting, scored on records it did not see).
    null
        What the pMSE is compared with; ``auto`` takes the one that fits how the copies were made.
    permutations
        How often labels are exchanged per copy where the null has no formula; by default so that there are 50 over all
        copies, fewer for large files and for boosting.
    proper
        Whether the synthesis drew its parameters from their posterior. By default as the run's own method does; files
        of other tools are taken to be drawn from the fitted model (plug-in), which is what most tools do.

    Examples
    --------
    >>> Propensity(models=["cart"]).permutations is None
    True
    """

    models: tuple[Model, ...] = Field(default=("logit", "cart"), min_length=1)
    null: NullKind | Literal["auto"] = "auto"
    permutations: int | None = Field(default=None, ge=2)
    proper: bool | None = None
