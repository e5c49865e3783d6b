"""How useful and how risky a set of synthetic files is, whoever made them."""
