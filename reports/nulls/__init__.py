"""The study nulls: study.py makes results.json, README.md and the figures anew."""
