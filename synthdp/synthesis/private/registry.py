"""The methods of this package by name."""

from collections.abc import Mapping

from synthdp.synthesis.private.fixed_total import DpExponential
from synthdp.synthesis.private.histograms import DpHistogram, DpSparseHistogram
from synthdp.synthesis.private.local import LocalNoise
from synthdp.synthesis.private.margins import DpMargins
from synthdp.synthesis.private.maskings import KAnonymity, KNoise, KPram, Masking, Pram
from synthdp.synthesis.private.mst import DpMst
from synthdp.synthesis.private.settings import Private

PRIVATE: Mapping[str, type[Private]] = {
    "dp_histogram": DpHistogram,
    "dp_sparse_histogram": DpSparseHistogram,
    "dp_exponential": DpExponential,
    "dp_margins": DpMargins,
    "dp_mst": DpMst,
    "local_noise": LocalNoise,
}
MASKINGS: Mapping[str, type[Masking]] = {"k_anonymity": KAnonymity, "pram": Pram, "k_pram": KPram, "k_noise": KNoise}
