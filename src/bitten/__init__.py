"""bitten: from a failing ML command to a verified fix in under an hour, with evidence at every step."""

__version__ = "0.1.0"
