"""Pages of the site that are made when it is built: reference, settings, measures, studies, notebooks."""
