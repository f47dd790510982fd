"""llama.cpp's own server, in a process of its own: a model that crashes it takes nothing else with it.

Started by `llama_server` with its parameters as one JSON argument, and an environment set before the library is loaded.
It listens on a unix socket only, and dies with its parent.
"""

import signal
import sys
import threading

import msgspec
import xllamacpp

from appliance.base import proc
from appliance.inference.engines.llama_parameters import FAULT, Parameters

# A request that is given up is noticed between batches: after at most some two seconds on two cores. Larger ones read a
# prompt no faster on a quiet machine.
BATCH = 128


def main() -> int:
    """Load the model, then serve until killed; return 1 with a sentence when it cannot be loaded."""
    asked = msgspec.json.decode(sys.argv[1], type=Parameters)
    proc.end_with(asked.parent, number=signal.SIGKILL)
    try:
        server = xllamacpp.Server(_params(asked))
    except RuntimeError:
        sys.stderr.write(f"{FAULT}llama.cpp cannot load {asked.model}.\n")
        return 1
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the library's own handler leaves this process running
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all; the parent decides
    threading.Event().wait()
    del server
    return 0


def _params(asked: Parameters) -> xllamacpp.CommonParams:
    params = xllamacpp.CommonParams()
    params.model.path = asked.model
    params.model_alias = {asked.alias}
    params.hostnames = [asked.socket]
    params.port = 0
    params.n_threads_http = asked.slots + 4
    params.ui = False
    params.endpoint_slots = False  # it shows prompts
    params.offline = True
    params.verbosity = 1
    params.n_parallel = asked.slots
    params.n_ctx = asked.context * asked.slots
    params.n_batch = BATCH
    params.n_ubatch = BATCH
    params.n_gpu_layers = 0
    params.ctx_shift = False  # it forgets the middle of a prompt without a word
    params.fit_params = False  # it shortens the context without a word
    params.cache_prompt = True
    params.cache_ram_mib = 0  # each kept prompt would cost as much as a slot; the slot's own prefix is enough
    params.warmup = True
    params.reasoning_format = xllamacpp.common_reasoning_format.COMMON_REASONING_FORMAT_NONE
    params.cpuparams.n_threads = asked.threads
    params.cpuparams_batch.n_threads = asked.prompt_threads
    params.cpuparams.poll = params.cpuparams_batch.poll = 0  # never spin beside an indexer
    return params


if __name__ == "__main__":
    sys.exit(main())
