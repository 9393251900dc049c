"""Class labels out of range for the model's outputs."""
