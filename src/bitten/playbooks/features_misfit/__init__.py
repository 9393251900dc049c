"""Input features that don't fit a layer."""
