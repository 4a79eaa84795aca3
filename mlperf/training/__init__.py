"""From a campaign or a table to a tested model."""
