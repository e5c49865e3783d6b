"""How risky the copies are: one intruder a module."""
