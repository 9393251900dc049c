"""Instruments: what watches a program's training from inside, in a run that was asked for. Each is loaded by the guest's own door.

Standard library only, Python 3.8 or newer; frameworks are taken from `sys.modules`, once the program itself has imported them.
"""
