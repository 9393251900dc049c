"""IN THE OTHER PROCESS: this folder goes on a stranger's PYTHONPATH; its files import nothing of ours, and load by path alone."""

import os

HOME = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - the folder's rule: only what every interpreter has loaded
