"""The study dp_quantiles: study.py makes results.json, README.md and the figures anew."""
