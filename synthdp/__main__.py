"""Run the command line as ``python -m synthdp``."""

from synthdp.cli import main

main()
