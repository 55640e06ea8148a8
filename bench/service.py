"""The example service: how long its build takes, of three kernels for three kinds of CPU, and what 10^5 requests find."""
import os
import pathlib
import socket
import subprocess
import tempfile
import time

import tensorwright as tw

SERVICE = pathlib.Path(__file__).resolve().parents[1] / "examples/service"


def timed(what, *command, **options):
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **options)
    print(f"{what:36} {time.perf_counter() - begin:5.1f} s", flush=True)


def main() -> None:
    prefix = str(pathlib.Path(tw.__file__).parents[1])
    with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
        environment = os.environ | {"CMAKE_PREFIX_PATH": prefix, "CMAKE_GENERATOR": "Ninja"}
        timed("configure", "cmake", "-S", SERVICE, "-B", folder, "-DCMAKE_BUILD_TYPE=Release", env=environment)
        timed("kernels", "cmake", "--build", folder, "--target", "kernels_kernels")
        timed("the service and its load", "cmake", "--build", folder)
        timed("once more", "cmake", "--build", folder)
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
        free.close()
        with subprocess.Popen([f"{folder}/service", port], stdout=subprocess.PIPE) as service:
            service.stdout.readline()
            try:
                subprocess.run([f"{folder}/load", port, "100000", "8"], check=True)
            finally:
                service.kill()


if __name__ == "__main__":
    main()
