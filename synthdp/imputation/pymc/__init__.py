"""Models the user writes: a family and a formula per replaced column, or a PyMC model of their own."""
