"""What is packed comes back as it was."""

from hypothesis import given, settings
from hypothesis import strategies as st

from appliance.codeintel.flow import (
    Flow,
    FlowScope,
    Op,
    Param,
    Read,
    Reads,
    Row,
    Site,
    Sites,
    Term,
    Terms,
    Uses,
    pack_flow,
    unpack_flow,
)

_NUMBERS = st.integers(0, 2**31 - 1)
_WORDS = st.sampled_from(["", "a", "get", "größe", "*"])
_ITEMS = st.lists(_NUMBERS, max_size=3).map(tuple)
_ROWS = st.tuples(st.sampled_from(sorted(Op)), _NUMBERS, _NUMBERS, _WORDS, _WORDS, _ITEMS)
_ARGUMENTS = st.lists(st.tuples(_WORDS, _NUMBERS), max_size=3).map(tuple)
_SITES = st.builds(Site, st.sampled_from(["call", "iter", "implied"]), _NUMBERS, _NUMBERS, _NUMBERS, _ARGUMENTS)
_READS = st.builds(Read, _NUMBERS, _NUMBERS, _NUMBERS)


@settings(max_examples=30, deadline=None)
@given(st.lists(_ROWS), st.lists(_SITES), st.lists(_READS))
def test_a_flow_comes_back_as_it_was(rows: list[Row], sites: list[Site], reads: list[Read]) -> None:
    scope = FlowScope("function", "go", 0, 3, params=(Param("a", default=2), Param("rest", star="*")), names={"a": 9_999})
    uses = Uses.of([(0, 1, "go", 7)])
    flow = unpack_flow(pack_flow(Flow(Terms.of(rows), (scope,), Sites.of(sites), reads=Reads.of(reads), uses=uses)))
    terms = [flow.terms[number] for number in range(len(flow.terms))]
    assert terms == [Term(op, a, b, text, "" if items else name, items) for op, a, b, text, name, items in rows]
    assert [flow.sites[number] for number in range(len(flow.sites))] == list(flow.sites) == sites
    assert list(flow.reads) == reads
    assert len(flow.reads) == len(reads)
    assert flow.scopes == (scope,)
    assert list(flow.uses) == list(uses)
