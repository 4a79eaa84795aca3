"""What every room needs and no room owns: errors, array types, results that show themselves, safe files."""
