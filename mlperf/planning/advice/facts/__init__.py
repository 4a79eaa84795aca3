"""What a recording shows, as numbers: no judgement, no threshold."""
