"""The data dictionary: every column with unit, meaning and bounds."""
