"""PyCG as the harness for call graphs asks: ``--entry FILE … --package DIR --out FILE``. Run by the peers' own Python."""

import argparse
import importlib
import json
import sys
from pathlib import Path


def main() -> None:
    """Write the graph that the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, count in (("--entry", "+"), ("--package", None), ("--out", None)):
        parser.add_argument(name, required=True, nargs=count)
    given = parser.parse_args()
    sys.modules["pycg"] = importlib.import_module("PyCG")  # version 0.0.8 is installed under another name than it imports
    generator = importlib.import_module("pycg.pycg").CallGraphGenerator
    constants = importlib.import_module("pycg.utils.constants")
    graph = generator(given.entry, given.package, -1, constants.CALL_GRAPH_OP)
    graph.analyze()
    simple = importlib.import_module("pycg.formats").Simple(graph)
    Path(given.out).write_text(json.dumps(simple.generate()))


if __name__ == "__main__":
    main()
