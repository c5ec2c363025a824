"""What one side of `benchmarks.ingest` did, measured in a process of its own."""

import resource
import sys
import time
from array import array
from dataclasses import dataclass, field
from pathlib import Path

THOUSAND = 1000


@dataclass(slots=True)
class Measured:
    """Seconds, when each chunk was written, CPU of this process, its peak memory in MB."""

    seconds: float = 0.0
    cpu: float = 0.0
    written: "array[float]" = field(default_factory=lambda: array("d"))
    memory_after_first_document: float = 0.0
    memory: float = 0.0

    @property
    def rate(self) -> float:
        """Chunks a second."""
        return len(self.written) / self.seconds

    @property
    def ends(self) -> int:
        """Of how many chunks each end is: a thousand, or a quarter of fewer than four thousand."""
        return min(THOUSAND, len(self.written) // 4)

    @property
    def first(self) -> float:
        """Chunks a second at the beginning."""
        return self.ends / (self.written[self.ends - 1])

    @property
    def last(self) -> float:
        """Chunks a second at the end."""
        return self.ends / (self.written[-1] - self.written[-1 - self.ends])

    @property
    def flatness(self) -> float:
        """The rate of the last thousand chunks relative to the first thousand."""
        return self.last / self.first

    @property
    def growth(self) -> float:
        """Peak memory at the end relative to that after the first document."""
        return self.memory / self.memory_after_first_document


class Clock:
    """Seconds and CPU since it was made."""

    def __init__(self) -> None:
        self._began, self._cpu = time.perf_counter(), time.process_time()

    @property
    def seconds(self) -> float:
        """What a person waits for."""
        return time.perf_counter() - self._began

    @property
    def cpu(self) -> float:
        """What this process, all threads of it, computes."""
        return time.process_time() - self._cpu


def peak_memory() -> float:
    """The most memory that this process ever had, in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # a child's ru_maxrss may begin with its parent's
        line = next(one for one in status.read_text().splitlines() if one.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    unit = 1024**2 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
