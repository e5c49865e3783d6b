"""What releases cost together: events, accountants, composition theorems and conversions."""
