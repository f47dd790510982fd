"""Numbers, sizes and times are written with units, and never say more than is known."""

import pytest

from appliance.console import text

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("share", "written"), [(0.0, "0 %"), (0.001, "1 %"), (0.5, "50 %"), (0.999, "99 %"), (1.0, "100 %")]
)
def test_a_share_is_whole_only_when_nothing_is_missing(share: float, written: str) -> None:
    assert text.percent(share) == written


@pytest.mark.parametrize(
    ("passed", "written"),
    [(5, "just now"), (130, "2 min ago"), (7300, "2 h ago"), (90_000, "1 day ago"), (200_000, "2 days ago")],
)
def test_a_moment_is_told_from_now(passed: float, written: str) -> None:
    assert text.ago(NOW - passed, NOW) == written


def test_a_moment_in_the_future_is_told_in_full() -> None:
    assert text.ago(NOW + 3600, NOW) == "2027-01-15 09:00:00 UTC"


@pytest.mark.parametrize(
    ("value", "written"),
    [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (145_000_000, "145 MB"), (1_117_320_736, "1.1 GB"), (3e12, "3.0 TB")],
)
def test_a_size_has_the_unit_that_fits(value: float, written: str) -> None:
    assert text.size(value) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [(0.42, "0.4 ms"), (96.2, "96 ms"), (4108, "4.1 s"), (200_000, "3 min 20 s"), (7_500_000, "2 h 5 min")],
)
def test_a_span_of_time_has_the_unit_that_fits(value: float, written: str) -> None:
    assert text.milliseconds(value) == written


@pytest.mark.parametrize(
    ("value", "noun", "written"), [(1, "file", "1 file"), (2, "file", "2 files"), (1200, "repository", "1,200 repositories")]
)
def test_a_count_bends_its_noun(value: int, noun: str, written: str) -> None:
    assert text.count(value, noun) == written


def test_backquoted_names_become_code_and_all_else_is_escaped() -> None:
    assert text.coded("`a<b>` & <i>") == "<code>a&lt;b&gt;</code> &amp; &lt;i&gt;"


def test_a_backquote_without_a_partner_stays_as_it_is() -> None:
    assert text.coded("it's `half") == "it&#39;s `half"
