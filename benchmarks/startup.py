"""CPU time of the start of the commands: `python -m benchmarks.startup`.

Runs each command five times in a process of its own, with its byte code cached, and prints the
median CPU seconds (user and system) and their ratio to the limit. `list` and `ask` use the
configured Neo4j (NEO4J_URI, or the embedded one); `ask` is measured up to its first decision, which
fails at once because no model answers at the configured address.
"""

import os
import resource
import subprocess
import sys
from statistics import median

RUNS = 5
NO_MODEL = {
    "GRAPHREADER_MODEL": "openai:none",
    "GRAPHREADER_EMBEDDINGS": "offline",
    "OPENAI_API_KEY": "none",
    "OPENAI_BASE_URL": "http://127.0.0.1:1/v1",
    "GRAPHREADER_MAX_CALLS": "1",
}
COMMANDS: tuple[tuple[float, tuple[str, ...], dict[str, str]], ...] = (
    (0.5, ("--help",), {}),
    (1.0, ("list", "--json"), {}),
    (1.0, ("neo4j", "status"), {}),
    (2.0, ("ask", "Who taught the founder?", "--json"), {"GRAPHREADER_MODEL": "offline"}),
    (2.0, ("ask", "Who taught the founder?", "--json"), NO_MODEL),
)


def cpu_seconds(arguments: tuple[str, ...], environment: dict[str, str]) -> float:
    """User and system seconds of one run of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "graphreader", *arguments],
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    """Measure all commands."""
    print(f"{'command':<45} {'CPU s':>6} {'limit':>6} {'ratio':>6}")
    for limit, arguments, environment in COMMANDS:
        cpu_seconds(arguments, environment)  # writes the byte code
        seconds = median(cpu_seconds(arguments, environment) for _ in range(RUNS))
        model = f" ({environment['GRAPHREADER_MODEL']})" if environment else ""
        name = " ".join(arguments) + model
        print(f"{name[:45]:<45} {seconds:6.2f} {limit:6.2f} {seconds / limit:6.2f}")


if __name__ == "__main__":
    main()
