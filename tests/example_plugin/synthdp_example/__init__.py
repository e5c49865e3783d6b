"""One plugin of each kind: what docs/plugins.md shows, and what the tests install beside synthdp."""
