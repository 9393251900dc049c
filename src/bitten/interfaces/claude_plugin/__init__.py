"""The Claude Code plugin: files that are laid out for it, and hook scripts that know nothing of bitten but what it left on disk."""
