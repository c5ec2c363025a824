"""llama.cpp's own server, with one slot on one thread.

`python -m tests.model.llama_server GGUF CONTEXT` prints its address, and runs until it is ended.
Without a cache of prompts, and with a penalty for repetitions, the replies to one sequence of
requests are always the same.
"""

import sys
import time

import xllamacpp


def main(weights: str, context: int) -> None:
    """Serve the model with so many tokens of context."""
    given = xllamacpp.CommonParams()
    given.model.path = weights
    given.hostnames, given.port = ["127.0.0.1"], 0
    given.n_ctx, given.n_parallel = context, 1
    given.n_batch = given.n_ubatch = 128  # tokens of a prompt between two looks at the connection
    given.cpuparams.n_threads = given.cpuparams_batch.n_threads = 1
    given.endpoint_metrics = given.endpoint_slots = True
    given.cache_prompt, given.cache_ram_mib = False, 0
    given.sampling.penalty_repeat, given.sampling.penalty_last_n = 1.1, 256
    server = xllamacpp.Server(given)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    while True:
        time.sleep(60)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
