"""The form of an exchange between devices, chosen by the data."""
