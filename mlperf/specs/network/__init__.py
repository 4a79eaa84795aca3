"""What a CNN is: shapes, layers, the specification and its TOML."""
