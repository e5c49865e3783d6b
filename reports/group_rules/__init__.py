"""The study group_rules: study.py makes results.json, README.md and the figures anew."""
