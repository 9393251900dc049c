"""THE LAW: pure. No I/O, clock, chance or third-party import."""
