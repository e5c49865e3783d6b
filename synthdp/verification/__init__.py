"""Verification: may the data user believe what the copies say? A DP answer from the confidential file.

A data user sends a request, a JSON file without code: a model, a formula, a term, and what the copies say of it.
Whoever holds the file runs ``synthdp verify-analysis`` on it. The records are dealt out by lot into M blocks; in each
block the model is fitted and one bit is found: does this block's estimate agree? A record is in one block, so it moves
a count by one at most, and the count goes out with noise. What is answered is worked out from the noisy count alone.

* ``request``: what may be asked, read from a file that nobody trusts
* ``imagined``: made-up records of the declared schema, on which a request is tried before the data are opened
* ``blocks``: the bits, one for every block and question
* ``believing``: from a noisy count to what may be believed
* ``answering``: price, ledger, answer

References
----------
Reiter, Oganian, Karr (2009), "Verification servers", Computational Statistics and Data Analysis 53(4).
Barrientos, Bolton, Balmat, Reiter, de Figueiredo, Machanavajjhala, Chen, Kneifel, DeLong (2018), "Providing access to
confidential research data through synthesis and verification", Annals of Applied Statistics 12(2).
Lin, Reiter (2024), "Differentially private verification of survey-weighted estimates", arXiv:2404.02519.
"""

from synthdp.verification.answering import Answer, verify_analysis
from synthdp.verification.request import Request, parse_request, read_request

__all__ = ["Answer", "Request", "parse_request", "read_request", "verify_analysis"]
