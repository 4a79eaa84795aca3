"""OLS whose terms an information criterion selects."""
