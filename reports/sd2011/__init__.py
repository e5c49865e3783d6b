"""The study sd2011: study.py makes results.json, README.md and the figures anew."""
