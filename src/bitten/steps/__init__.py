"""THE VERBS: one public function a file, (case, ports) → events. No step knows a file, a process or a screen."""
