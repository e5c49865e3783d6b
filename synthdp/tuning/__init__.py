"""The most useful settings that stay within every limit of the gate."""
