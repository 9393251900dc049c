"""NaN or Inf in what the model is given."""
