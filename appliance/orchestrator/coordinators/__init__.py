"""Decisions made from a snapshot alone: what is asked for, who should do it, what bears on it, what must not be done."""

from appliance.orchestrator.coordinators.code_index import IndexedCode
from appliance.orchestrator.coordinators.coordination import (
    CoordinationAdvisor,
    CoordinationRuntime,
    CoordinationStatePassedCoordinator,
    Suggested,
    Suggestion,
    Task,
)
from appliance.orchestrator.coordinators.exploration import (
    ExplorationStatePassedCoordinator,
    FileFinder,
    Findings,
    FoundFile,
)
from appliance.orchestrator.coordinators.safety import SafetyStatePassedCoordinator
from appliance.orchestrator.coordinators.suited import MISSION_TEAMS, Suited, SuitedRegistry, by_words
from appliance.orchestrator.coordinators.system_prompt import SystemPromptStatePassedCoordinator
from appliance.orchestrator.coordinators.tasks import Analyzes, TaskAnalysis, TaskAnalyzer

__all__ = [
    "MISSION_TEAMS",
    "Analyzes",
    "CoordinationAdvisor",
    "CoordinationRuntime",
    "CoordinationStatePassedCoordinator",
    "ExplorationStatePassedCoordinator",
    "FileFinder",
    "Findings",
    "FoundFile",
    "IndexedCode",
    "SafetyStatePassedCoordinator",
    "Suggested",
    "Suggestion",
    "Suited",
    "SuitedRegistry",
    "SystemPromptStatePassedCoordinator",
    "Task",
    "TaskAnalysis",
    "TaskAnalyzer",
    "by_words",
]
