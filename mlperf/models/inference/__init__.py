"""The report of a fit: inference, figures, diagnostics, warnings, text."""
