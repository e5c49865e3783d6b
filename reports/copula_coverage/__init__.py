"""The study copula_coverage: study.py makes results.json, README.md and the figures anew."""
