r"""Classical maskings of the microdata, without a guarantee: no ε is claimed for any of them.

``k_anonymity``        the records are cut into classes of at least k at medians (Mondrian), each class shows one value
``microaggregation``   numbers become the means of groups of k that lie together (MDAV)
``pram``               levels exchanged by a fixed matrix, or by one that keeps the shares; numbers by bins
``k_pram``             numbers replaced within their own group, which holds at least k
``k_noise``            number + U(−a, a), a half the length of groups that hold k each
``noise``              number + noise of a declared law
``rank_swap``          numbers exchanged between records of neighbouring ranks
``top_bottom``         the largest and smallest numbers shown as one value
``local_suppression``  values left out until at least k records agree with each one on the keys

Notes
-----
A masked file is the file with errors in it and no draw from a model: analyses of it are attenuated or biased by what
the masking does, and their intervals do not know of it (:data:`~synthdp.synthesis.maskings.masking.UNAWARE`).

Local DP of a fixed matrix would be ln max ratio (keep = 0.8, two levels: ln 4), but what is released here depends on
groups, means or ranges of the data, and kept columns stay. k-noise is bounded: whoever knows x knows |Y − x| ≤ a.
"""
