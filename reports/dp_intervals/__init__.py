"""The study dp_intervals: study.py makes results.json, README.md and the figures anew."""
