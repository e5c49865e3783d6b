"""What a notebook holds in its hands: results that show, tabulate and draw themselves, and arguments of any form."""
