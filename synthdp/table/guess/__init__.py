"""What the columns of an unknown file are, guessed from names and values. Only ``synthdp init`` guesses."""
