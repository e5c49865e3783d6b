"""A regression per replaced column, by its kind: exact where it can be, else by Gibbs sampling."""
