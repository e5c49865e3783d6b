"""The methods that the registry study compares."""

from dataclasses import dataclass
from typing import Literal

from synthdp.imputation.regression import Regression
from synthdp.imputation.trees.cart import Cart
from synthdp.imputation.trees.masked import MaskedCart
from synthdp.masking.columns import MaskDraw
from synthdp.synthesis.imputed import DaMi, Mi
from synthdp.synthesis.protocol import Synthesizer
from synthdp.synthesis.sequential import MODELS, Sequential


@dataclass(frozen=True)
class Method:
    """One line of the comparison: how the copies are made and how strongly X is masked."""

    name: str
    engine: Literal["da_mi", "da_cart", "mi", "cart", "norm_logit"] = "da_mi"
    sd: float | None = None
    alpha: float | None = None
    noisy_copies: int = 1
    graded: float | None = None
    fewest: int = 1
    mask_draw: MaskDraw = "once"

    def synthesis(self, copies: int, exclude: tuple[str, ...]) -> Synthesizer:
        """Return the synthesizer; ``exclude`` are the kept columns it must not see."""
        match self.engine:
            case "mi":
                return Mi(copies=copies, model=Regression(exclude=exclude))
            case "cart":
                return Sequential(copies=copies, model=Cart(exclude=exclude))
            case "norm_logit":
                return Sequential(copies=copies, model=MODELS["regression"](exclude=exclude))
            case "da_cart":
                return DaMi(copies=copies, mask_draw=self.mask_draw, model=MaskedCart(exclude=exclude))
            case _:
                return DaMi(copies=copies, mask_draw=self.mask_draw, model=Regression(exclude=exclude))


METHODS = (
    Method("authors' setting: sd 1, 20 copies, α 6", sd=1.0, noisy_copies=20, alpha=6.0),
    Method("sd 0.35, α 4", sd=0.35, alpha=4.0),
    Method("sd 0.5, α 3", sd=0.5, alpha=3.0),
    Method("sd 0.7, α 2", sd=0.7, alpha=2.0),
    Method("sd 1, α 1.5", sd=1.0, alpha=1.5),
    Method("graded 0.4·√(30/s), α 6", sd=0.4, alpha=6.0, graded=30),
    Method("graded 0.45·√(30/s), s ≥ 8, α 5", sd=0.45, alpha=5.0, graded=30, fewest=8),
    Method("graded 0.5·√(30/s), s ≥ 8, α 5", sd=0.5, alpha=5.0, graded=30, fewest=8),
    Method(
        "graded 0.45·√(30/s), s ≥ 8, α 5, W orthogonal",
        sd=0.45,
        alpha=5.0,
        graded=30,
        fewest=8,
        mask_draw="once_orthogonal",
    ),
    Method(
        "graded 0.45·√(30/s), s ≥ 8, α 5, W per copy",
        sd=0.45,
        alpha=5.0,
        graded=30,
        fewest=8,
        mask_draw="per_copy",
    ),
    Method("DA-CART, sd 0.5, α 3", engine="da_cart", sd=0.5, alpha=3.0),
    Method("mi", engine="mi"),
    Method("CART", engine="cart"),
    Method("norm+logit", engine="norm_logit"),
)
