"""The page a person reads and signs."""
