"""The study copula_groups: study.py makes results.json, README.md and the figures anew."""
