"""Claude Code as a program on this machine: our plugin laid out for it, its settings, and what it told of its sessions. Knows no case."""
