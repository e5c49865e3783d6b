"""The study authors: study.py makes results.json, README.md and the figures anew."""
