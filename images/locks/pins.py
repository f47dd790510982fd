"""Reads pip's report of a resolution on standard input and prints the lock *name*: exact versions, each with its digest.

What has no wheel is compiled, and stands in the lock ``llama-cpp`` alone.
"""

import json
import sys

_HEAD = """\
# The lock {name!r}: made by images/locks/renew, for Python {python} on {machine}. Change pyproject.toml, not this file.
"""
_OURS = "skellig"
_COMPILED = "llama-cpp-python"


def main(name: str) -> int:
    """Print the lock."""
    report = json.load(sys.stdin)
    environment = report["environment"]
    print(_HEAD.format(name=name, python=environment["python_version"], machine=environment["platform_machine"]), end="")
    for item in sorted(report["install"], key=lambda item: item["metadata"]["name"].lower()):
        package = item["metadata"]["name"].lower().replace("_", "-")
        if package == _OURS or (package == _COMPILED) != (name == "llama-cpp"):
            continue
        digest = item["download_info"]["archive_info"]["hashes"]["sha256"]
        print(f"{package}=={item['metadata']['version']} \\\n    --hash=sha256:{digest}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
