"""One regression family per module: a posterior of its parameters, and exact draws of its outcome given evidence."""
