"""Set the stage for every test: one BLAS thread per worker, and the same hypothesis examples on every machine."""

import os

# before numpy is imported anywhere: afterwards the thread pools exist
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

from hypothesis import settings  # noqa: E402

# workers share two cores, so a deadline would measure the neighbour; a failure must come back when run again
settings.register_profile("synthdp", deadline=None, derandomize=True)
settings.load_profile("synthdp")
