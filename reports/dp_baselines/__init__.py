"""The study dp_baselines: study.py makes results.json, README.md and the figures anew."""
