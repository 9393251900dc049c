"""Items of unequal length or shape in one batch."""
