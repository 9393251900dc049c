"""What hands an event to `bitten hook`, and ends at once where there is nothing to do. Standard library; knows no case."""
