"""bitten for an agent that speaks MCP: tools to read a case, to propose and to have checked; none to confirm.

Two kinds of processes. The server (`server`, `protocol`, `tools`, `lines`, `calls`) knows the protocol and no case, so it starts at
once; each call of a tool is done in a process of its own (`answer`, `doing`, `agent`), which knows the case and no protocol.
"""
