"""The command's tree of processes, beside it: who ran, whether anything moves, where each stands, what an end means. Judges no cause."""
