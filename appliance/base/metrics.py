"""What the appliance counts, in Prometheus' terms. Every metric has a line in docs/reference/metrics.md."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_LATENCY = (0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """One registry of its own per process: tests make as many as they like."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.searches = Counter("skellig_searches", "Searches answered.", ["outcome"], registry=self.registry)
        self.search_seconds = Histogram(
            "skellig_search_seconds", "Time to answer a search.", buckets=_LATENCY, registry=self.registry
        )
        self.asks = Counter("skellig_asks", "Questions answered.", ["kind"], registry=self.registry)
        self.evidence_seconds = Histogram(
            "skellig_evidence_seconds",
            "Time to the evidence card of an answer.",
            buckets=_LATENCY,
            registry=self.registry,
        )
        self.tools = Counter(
            "skellig_tools", "Calls of tools by editors and agents.", ["tool", "outcome"], registry=self.registry
        )
        self.tool_seconds = Histogram(
            "skellig_tool_seconds", "Time to answer a call of a tool.", ["tool"], buckets=_LATENCY, registry=self.registry
        )
        self.jobs = Gauge("skellig_jobs", "Jobs by state.", ["state"], registry=self.registry)
        self.missions = Gauge("skellig_missions", "Missions by state.", ["state"], registry=self.registry)
        self.approvals_pending = Gauge(
            "skellig_approvals_pending", "Questions that wait for a person's decision.", registry=self.registry
        )
        self.repos_in_error = Gauge(
            "skellig_repos_in_error", "Repositories whose last attempt failed.", registry=self.registry
        )
        self.http = Counter("skellig_http_requests", "HTTP requests.", ["method", "status"], registry=self.registry)

    def text(self) -> bytes:
        """Return the exposition text."""
        return generate_latest(self.registry)
