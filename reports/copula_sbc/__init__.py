"""The study copula_sbc: study.py makes results.json, README.md and the figures anew."""
