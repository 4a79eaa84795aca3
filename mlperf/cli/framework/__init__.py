"""What commands share: groups, options, values, settings, failures."""
