"""WHAT PEOPLE AND MODELS SEE: thin, no rules."""
