"""Who sends how much to whom over which links, and the best ring through them."""
