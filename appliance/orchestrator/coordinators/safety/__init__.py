"""What a call of a tool would do, as far as its text tells."""

from appliance.orchestrator.coordinators.safety.coordinator import SafetyStatePassedCoordinator

__all__ = ["SafetyStatePassedCoordinator"]
