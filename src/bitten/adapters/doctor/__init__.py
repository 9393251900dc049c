"""What `bitten doctor` looks at: this machine, the agents on it, whether our gates in Claude Code answer. Changes nothing of it."""
