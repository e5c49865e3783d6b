"""Several methods, settings and other tools' files on one risk–utility map."""
