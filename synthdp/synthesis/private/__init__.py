"""Differentially private synthesizers, and the classical maskings that are not.

========================  =====================================================================
``dp_histogram``          noise on every cell of the declared domain
``dp_sparse_histogram``   the same, thresholded; empty cells are never held
``dp_exponential``        a table with the right total, by the exponential mechanism
``dp_margins``            one noisy margin per column, columns independent
``dp_kde``                one or two numeric columns from a smooth density with noise
``dp_mst``                margins and a tree of two-way tables (McKenna et al. 2021); the only one with associations
                          in domains too large for a table
``dp_tables``             the tables of a workload, all at once; copies that know of the noise (Räisä et al. 2023)
``dp_aim``                tables of a workload, chosen where the model is wrong (McKenna et al. 2022)
``dp_normal``             numbers from a normal distribution with noisy mean and covariance; copies that know of it
``local_noise``           noise on every value of every record
``dp_da_mi``              the same kind of noise, and copies drawn from what it says, with intervals that count it
``k_anonymity`` ``pram`` ``k_pram`` ``k_noise``   maskings without a guarantee: no ε is ever shown for them
========================  =====================================================================

The domain (levels, bounds, decimals) must be declared: what is read off the data is not private, and is refused.
Methods of tables may pay for bins and levels instead (`preprocessing`), and give no mass to what was declared
impossible (`zeros`).
"""
