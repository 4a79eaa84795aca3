"""How what was found in recorded runs is shown."""
