"""The person's command, run as if we weren't there, and what it printed. Knows nothing of cases."""
