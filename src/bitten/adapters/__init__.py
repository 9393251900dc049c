"""THE MACHINE: the only room that starts, reads, writes or sends."""
