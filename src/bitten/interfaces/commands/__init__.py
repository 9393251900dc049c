"""One function a command, thin: ask the house for a case, let a step work on it, print what came of it."""
