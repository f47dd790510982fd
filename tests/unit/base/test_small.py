import io
import json
import subprocess
import sys

import pytest

from appliance.base import log
from appliance.base.budget import Budget, Deadline
from appliance.base.clock import SystemClock
from appliance.base.metrics import Metrics
from appliance.errors import ApplianceError, DeadlineExceeded, LimitExceeded


def test_a_budget_ends_with_its_limit_in_the_error() -> None:
    budget = Budget(10, "entries")
    budget.spend(10)
    assert budget.left == 0
    with pytest.raises(LimitExceeded, match="More than 10 entries"):
        budget.spend()


def test_a_deadline_that_passed_names_the_work() -> None:
    with pytest.raises(DeadlineExceeded, match="The parse took longer"):
        Deadline(0, what="The parse").check()
    Deadline(60, what="The parse").check()


def test_monotonic_time_grows() -> None:
    clock = SystemClock()
    assert clock.monotonic() <= clock.monotonic()
    assert clock.now() > 1_700_000_000


def test_two_registries_do_not_meet() -> None:
    first, second = Metrics(), Metrics()
    first.searches.labels(outcome="ok").inc()
    assert b'skellig_searches_total{outcome="ok"} 1.0' in first.text()
    assert b'outcome="ok"' not in second.text()


def test_a_log_line_is_json_with_its_event_and_level() -> None:
    stream = io.StringIO()
    log.configure(level="info", json=True, stream=stream)
    log.get("appliance.test").info("index.published", files=3)
    line = json.loads(stream.getvalue())
    assert (line["event"], line["level"], line["files"]) == ("index.published", "info", 3)


def every_error(root: type[ApplianceError] = ApplianceError) -> list[type[ApplianceError]]:
    return [root, *(leaf for sub in root.__subclasses__() for leaf in every_error(sub))]


def test_every_error_has_a_code_of_its_own() -> None:
    """Clients and runbooks go by the code."""
    codes = [error.code for error in every_error()]
    assert len(codes) == len(set(codes))


def test_an_error_reads_as_its_sentence_and_its_remedy() -> None:
    error = ApplianceError("The port is taken.", remedy="Choose another.", port=7878)
    assert str(error) == "The port is taken. Choose another."
    assert error.context == {"port": 7878}


def test_a_program_that_configured_nothing_keeps_its_standard_output_to_itself() -> None:
    code = "from appliance.base import log\nlog.get('agent').info('agent.turn')\nlog.get('agent').warning('agent.broke')"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout == ""
    assert "agent.turn" not in ran.stderr
    assert "agent.broke" in ran.stderr
