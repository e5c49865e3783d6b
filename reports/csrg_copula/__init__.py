"""The study csrg_copula: study.py makes results.json, README.md and the figures anew."""
