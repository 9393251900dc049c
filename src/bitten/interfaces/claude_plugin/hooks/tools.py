"""What each of Claude Code's tools can do to a tree. What is not in a table here is unknown, and unknown tools are not readers."""

from __future__ import annotations

import re

READERS = frozenset((
    "Read", "Glob", "Grep", "LS", "NotebookRead", "LSP", "ToolSearch", "WebFetch", "WebSearch", "ListMcpResourcesTool",
    "ReadMcpResourceTool", "TodoRead", "TodoWrite", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "TaskOutput", "TaskStop",
    "BashOutput", "KillShell", "KillBash", "AskUserQuestion",
    "EnterPlanMode", "ExitPlanMode", "ListAgents", "ReportFindings", "StructuredOutput",
    "mcp__ide__getDiagnostics"))
"""They read, ask, plan, or stop what is running; none writes a file of the project."""
EDITORS = {"Edit": "file_path", "Write": "file_path", "MultiEdit": "file_path", "NotebookEdit": "notebook_path"}
"""Each with the name of its path."""
SHELLS = frozenset(("Bash",))
"""Judged by the list of readers in an open case. PowerShell and Monitor have another grammar, so they count as unknown."""
SPEAKERS = frozenset(("SendMessage",))
"""They put words before another agent or session, where a command of ours must not look as if a person had typed it."""
AGENTS = frozenset(("Agent", "Task"))
"""Their own calls pass this same gate, so the call itself may be made."""
SKILLS = {"Skill": "skill", "SlashCommand": "command"}
"""A skill's text may run shell commands while it is loaded, which no hook sees (tried on 2.1.332)."""
OURS = re.compile(r"mcp__(plugin_bitten_)?bitten__(?!.*confirm)[a-z_]+", re.A)
"""Our MCP server, as a plugin's and as a project's. It has no tool that confirms."""


def kind(tool: str) -> str:
    """reader, editor, shell, speaker, agent, skill, ours, or unknown."""
    named = {"reader": READERS, "editor": EDITORS, "shell": SHELLS, "speaker": SPEAKERS, "agent": AGENTS, "skill": SKILLS}
    return next((name for name, tools in named.items() if tool in tools), "ours" if OURS.fullmatch(tool) else "unknown")
