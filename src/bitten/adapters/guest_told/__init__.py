"""What the guest wrote, read back as the law's nouns. Starts and judges nothing."""
