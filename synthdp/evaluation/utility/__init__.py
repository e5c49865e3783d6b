"""How useful the copies are: what an analyst would notice."""
