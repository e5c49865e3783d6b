"""The study regions: study.py makes results.json, README.md and the figures anew."""
