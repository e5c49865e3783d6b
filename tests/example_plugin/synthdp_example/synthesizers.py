"""Every replaced column in a random order of its own: margins are exact, and nothing else is kept."""

from typing import Literal

from pydantic import Field

from synthdp.parallel import Advance
from synthdp.seeding import Streams
from synthdp.synthesis.plan import Method, Plan, Release


class Permuted(Method):
    method: Literal["permuted"] = "permuted"
    copies: int = Field(default=5, ge=1)
    imputations: Literal[1] = 1
    shuffle: bool = True
    repair: bool = False

    def problems(self, plan: Plan) -> list[str]:
        return ["constraints: method permuted does not keep them; use da_mi."] if plan.constraints else []

    def synthesize(self, plan: Plan, *, streams: Streams, jobs: int = 1, advance: Advance | None = None) -> Release:
        frame, copies = plan.data.frame, []
        for m in range(1, self.copies + 1):
            orders = {
                column.name: streams.generator("values", column.name, m).permutation(len(frame))
                for column in plan.data.schema.replaced()
            }
            copies.append(frame.assign(**{name: frame[name].array[order] for name, order in orders.items()}))
            if advance is not None:
                advance(m, self.copies)
        return Release.of(self, plan, copies, seconds={})
