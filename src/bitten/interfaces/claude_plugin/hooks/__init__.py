"""What Claude Code starts around a tool call: scripts of the standard library that answer in milliseconds, and refuse where they fail."""
