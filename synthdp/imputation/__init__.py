"""X given everything else: association models and their posteriors."""
