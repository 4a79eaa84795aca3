"""What data there is: listed, checked, exported."""
