"""Scripted violations: a model that tries what the gates are there to stop. Each is a row of a table; nothing here plays them."""
