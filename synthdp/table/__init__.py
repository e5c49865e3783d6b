"""What is each column, and does the file agree? Schema, records, and the rules between columns."""
