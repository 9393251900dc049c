"""Agents behind the port, the redacted copy that each works in, and the way of its change into the tree. Knows no case."""
