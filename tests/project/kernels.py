"""Kernels of notebooks, forked from a process that has loaded what all of them import.

A kernel that is started the common way imports for seconds what these have from the beginning.
`python kernels.py SOCKET ...`, the command of a kernel, asks that process for one with these
arguments, and ends with it.
"""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def forked_kernels(folder: Path) -> Iterator[list[str]]:
    """The command of a forked kernel, until the block ends; the folder is for the socket."""
    place = folder / "kernels"
    command = [sys.executable, "-c", f"from {__name__} import serve; serve({str(place)!r})"]
    root = Path(__file__).parents[2]
    environment = {**os.environ, "MPLCONFIGDIR": str(folder / "matplotlib")}
    with subprocess.Popen(command, cwd=root, env=environment, stdout=subprocess.PIPE) as server:
        assert server.stdout
        server.stdout.readline()
        try:
            yield [sys.executable, "-S", __file__, str(place), "-f", "{connection_file}"]
        finally:
            server.kill()  # kernels end with their parent


def serve(place: str) -> None:
    """Fork a kernel for each connection."""
    # Here, since whoever asks for a kernel shall not load them.
    import IPython.display  # noqa: F401, PLC0415
    import matplotlib.figure  # noqa: F401, PLC0415
    import networkx  # noqa: F401, PLC0415
    import PIL.Image  # noqa: F401, PLC0415
    from ipykernel.kernelapp import IPKernelApp  # noqa: PLC0415

    from graphreader.graph_reader import GraphReader  # noqa: F401, PLC0415
    from graphreader.integrations import langchain_neo4j  # noqa: F401, PLC0415

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # ended kernels leave nothing behind
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(place)
        server.listen()
        os.write(1, b"ready\n")
        while True:
            asking, _ = server.accept()
            if os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                server.close()
                with asking, asking.makefile() as lines:
                    asked = json.loads(lines.readline())
                    os.environ.clear()
                    os.environ.update(asked["environment"])
                    os.chdir(asked["folder"])
                    IPKernelApp.launch_instance(argv=asked["arguments"])
                os._exit(0)
            asking.close()


def main(place: str, *arguments: str) -> None:
    """Ask for a kernel, and wait for its end."""
    with socket.socket(socket.AF_UNIX) as asking:
        asking.connect(place)
        asked = {"environment": dict(os.environ), "folder": os.getcwd(), "arguments": arguments}
        asking.sendall(json.dumps(asked).encode() + b"\n")
        with suppress(KeyboardInterrupt):  # of whoever ends the kernel
            asking.recv(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
