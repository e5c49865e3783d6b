"""W given X: known, tunable masks."""
