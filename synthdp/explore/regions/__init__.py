"""Privacy regions for people who are not experts: one page, offline, that anyone can open and pass on.

The page computes in the browser what ``synthdp.privacy.tradeoff`` computes here; the tests hold the two together. What
computes are ``special.js`` (the normal distribution), ``curves.js``, ``composing.js``, ``kinds.js`` (what can be added)
and ``prices.js`` (what a query costs); what shows it are ``dom.js``, ``plot.js``, ``state.js`` (also the link),
``overview.js`` and ``editor.js`` (the regions), ``window.js`` (the trade-offs) and ``start.js``.
"""

from synthdp.explore.regions.page import page

__all__ = ["page"]
