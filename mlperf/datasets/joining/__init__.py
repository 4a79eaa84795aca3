"""Feature tables joined to measured rows by key."""
