"""Becomes another program that ends when its parent does: ``vllm_child PARENT PROGRAM ARGUMENT…``."""

import os
import signal
import sys

from appliance.base import proc

if __name__ == "__main__":
    proc.end_with(int(sys.argv[1]), number=signal.SIGTERM)  # it ends its own children, given the time
    os.execv(sys.argv[2], sys.argv[2:])  # noqa: S606 - what the engine asked for, without a shell
