"""The study copula_margins: study.py makes results.json, README.md and the figures anew."""
