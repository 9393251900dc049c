"""What a test of ours or of a third party imports: `prove` for playbooks, a scripted agent and its contract, a scripted Messages API."""

from .agents import ScriptedAgent
from .contract import RULES, Trial, agent_contract
from .proving import HEADINGS, Proof, prove

__all__ = ["HEADINGS", "RULES", "Proof", "ScriptedAgent", "Trial", "agent_contract", "prove"]
