"""The masks by name: a new mask is one file and one entry here."""

from typing import Annotated

from pydantic import Field

from synthdp.masking.gaussian import Gaussian
from synthdp.masking.shifted_normal import ShiftedNormal
from synthdp.masking.transition import Transition

AnyMask = Annotated[Gaussian | ShiftedNormal | Transition, Field(discriminator="method")]
MASKS: tuple[type[Gaussian] | type[ShiftedNormal] | type[Transition], ...] = (Gaussian, ShiftedNormal, Transition)
