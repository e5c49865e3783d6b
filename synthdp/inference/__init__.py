"""What an analyst does with a release: analyses and combining rules."""
