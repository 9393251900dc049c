"""WHAT IS KNOWN: one folder a failure class, proving itself."""
