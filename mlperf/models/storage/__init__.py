"""Model files: plain JSON, and Extra-P's formats."""
