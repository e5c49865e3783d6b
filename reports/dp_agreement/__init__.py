"""The study dp_agreement: study.py makes results.json, README.md and the figures anew."""
