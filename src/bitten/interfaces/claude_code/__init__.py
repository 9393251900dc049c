"""What a session of Claude Code is told, and what a person types there. Thin: the rules are the steps', and hooks only carry words."""
