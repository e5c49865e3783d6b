"""The Bayesian Gaussian copula: one joint model of all columns, missing values and risk groups included."""
