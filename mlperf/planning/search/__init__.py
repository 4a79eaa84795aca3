"""Parts of the search: windows, epochs to a target, the stability of a ranking, rankings over several machines."""
