"""The explorer in the browser."""
