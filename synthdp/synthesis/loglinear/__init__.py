"""Copies drawn from tables of counts: log-linear models fitted to margins (``ipf``), the whole table (``catall``)."""
