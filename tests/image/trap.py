"""A network namespace whose every way out leads to counters."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

NAMESERVER: Final = "10.231.7.53"
# What the kernel itself says on a link, to find neighbours and routers, is nobody's attempt.
_RULES: Final = """
table inet trap {
    counter v4 { }
    counter v6 { }
    counter dns { }
    chain out {
        type filter hook output priority 0; policy drop;
        oifname "lo" accept
        icmpv6 type { nd-router-solicit, nd-neighbor-solicit, nd-neighbor-advert } accept
        icmpv6 type { mld-listener-report, mld2-listener-report } accept
        meta l4proto { tcp, udp } th dport 53 counter name dns
        meta nfproto ipv4 counter name v4 reject
        meta nfproto ipv6 counter name v6 reject
    }
}
"""


class Trap:
    """One namespace; podman runs a container in it with `options`."""

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def options(self) -> tuple[str, ...]:
        """Return podman's options."""
        return (f"--network=ns:/run/netns/{self._name}", f"--dns={NAMESERVER}")

    def caught(self) -> dict[str, int]:
        """Return how many packets tried to get out: by IPv4, by IPv6, and to ask for names."""
        told = json.loads(self.command("nft", "-j", "list", "counters", "table", "inet", "trap"))
        counters = [item["counter"] for item in told["nftables"] if "counter" in item]
        return {counter["name"]: counter["packets"] for counter in counters}

    def command(self, *argv: str, given: str = "") -> str:
        """Return what *argv* prints inside."""
        command = ["ip", "netns", "exec", self._name, *argv]
        return subprocess.run(command, input=given, capture_output=True, text=True, check=True).stdout


@contextmanager
def trap() -> Iterator[Trap]:
    """Make the namespace, with a default route for each protocol; it is gone afterwards."""
    name = f"skellig-trap-{os.getpid()}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        made = Trap(name)
        for line in (
            "link set lo up",
            "link add out type veth peer name sink",
            "link set sink addrgenmode none up",
            "addr add 10.231.7.2/24 dev out",
            "-6 addr add fd00:7::2/64 dev out nodad",
            "link set out up",
            "route add default via 10.231.7.1",
            "-6 route add default via fd00:7::1",
        ):
            made.command("ip", *line.split())
        made.command("nft", "-f", "-", given=_RULES)
        yield made
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=True)
