"""Prints so many MiB of a training log's lines, as fast as it can, and exits with a code. No benchmark itself."""

import os
import sys

LINE = b"step 12345 loss=0.123456 lr=0.001 some words of a line of a log\n"
BLOCK = LINE * 1024
left = int(sys.argv[1]) << 20
while left > 0:
    left -= os.write(1, BLOCK[:left])
sys.exit(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
