"""How tasks are scored: what they bring, and how methods are judged on left-out rows."""
