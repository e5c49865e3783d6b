"""Copies drawn from tables of counts: log-linear models fitted to margins (``ipf``), and the whole table (``catall``)."""
