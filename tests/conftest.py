"""Set the stage for every test: one BLAS thread per worker, the same hypothesis examples on every machine.

Every release that a test makes through the pipeline is scanned for leaks.
"""

import json
import os
import platform
from importlib import import_module

# before numpy is imported anywhere: afterwards the thread pools exist
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")
if platform.machine() in ("x86_64", "AMD64"):
    # matrix products as every such processor can do them: the newest ones of each make differ in the last digits
    os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")
# tests release the same data again and again; the tests of the register turn it on
os.environ["SYNTHDP_REGISTER"] = "none"

import numpy as np  # noqa: E402
import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

# workers share two cores, so a deadline would measure the neighbour; a failure must come back when run again
settings.register_profile("synthdp", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("synthdp")


@pytest.fixture(scope="session", autouse=True)
def _every_release_is_scanned():
    """Scan what `pipeline.publish` writes, whichever test asked for it."""
    from synthdp import pipeline
    from synthdp.evaluation.leaks import Kind, scan

    publish, scanning = pipeline.publish, import_module("synthdp.evaluation.leaks.scan")

    def scanned(config, data, made, orders, out, table, **options):
        sums = publish(config, data, made, orders, out, table, **options)
        manifest = json.loads((out / "confidential" / "manifest.json").read_text())
        with pytest.MonkeyPatch.context() as rare:
            if config.seed is None or config.synthesis.private:
                # copies of another seed every time, or of secure noise: one alarm by chance in a thousand is too many
                rare.setattr(scanning, "LEVEL", 1e-7)
            leaks = scan(out / "public", data.frame, data.schema, manifest=manifest, rng=np.random.default_rng(1))
        # who turns off the shuffle wants the order
        ordered = () if config.synthesis.shuffle else (Kind.ORDER,)
        assert not [str(leak) for leak in leaks if leak.kind not in ordered]
        return sums

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "publish", scanned)
        yield
