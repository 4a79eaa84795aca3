"""The numbers in figures 4 to 13 of the SPRINT paper (Oyama et al.), from any campaign."""
