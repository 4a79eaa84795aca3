"""Figures, and the page that holds them."""
