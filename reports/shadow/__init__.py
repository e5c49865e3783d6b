"""The study shadow: study.py makes results.json, README.md and the figures anew."""
