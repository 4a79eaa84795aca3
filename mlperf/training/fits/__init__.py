"""One fitted thing: a model of one time with its left-out error."""
