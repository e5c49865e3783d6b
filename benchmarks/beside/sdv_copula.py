"""What benchmarks/peers.py times: one copy by SDV's Gaussian copula. PYTHON-WITH-SDV sdv_copula.py FILE."""

import sys
import time
from collections.abc import Callable
from typing import Any

import pandas as pd
from sdv.metadata import Metadata
from sdv.single_table import GaussianCopulaSynthesizer


def lap(name: str, work: Callable[[], Any]) -> Any:
    began, used = time.perf_counter(), time.process_time()
    value = work()
    print("STAGE", name, time.process_time() - used, time.perf_counter() - began, flush=True)
    return value


data = lap("read", lambda: pd.read_csv(sys.argv[1]))
kinds = {name: {"sdtype": "numerical" if data[name].dtype.kind == "f" else "categorical"} for name in data}
model = GaussianCopulaSynthesizer(Metadata.load_from_dict({"tables": {"t": {"columns": kinds}}, "relationships": []}))
lap("fit", lambda: model.fit({"t": data}))
lap("sample", lambda: model.sample(num_rows=len(data)))
