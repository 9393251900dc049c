"""What a run rested on: files, configs, packages, machine and tree, and what of it changed since the last good run. Judges nothing."""
