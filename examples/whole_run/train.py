"""Train a small network for real, with a fault planted on request: something for ``mlperf record`` to find.

Pictures are decoded from coefficients by a function of C or C++ in worker threads, a network of two layers is trained on them by
back-propagation, and under MPI the gradients are summed over the ranks. Marks tell the recorder what a step is doing; without the
toolkit they do nothing. With ``--device-ms`` forward and backward wait for an accelerator that is not there, so that several ranks
fit on a small machine; everything else stays real.

    mlperf record -o slow -- python train.py --fault slow-loader
    mlperf record advise slow
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import queue
import subprocess
import tempfile
import threading
import time
from contextlib import nullcontext
from pathlib import Path

# One core computes, the others load.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np

try:
    from mlperf.traces.recording import region
except ImportError:

    def region(_name: str, _size_bytes: int = 0) -> nullcontext:
        """No toolkit, no marks."""
        return nullcontext()


FAULTS = ("none", "slow-loader", "slow-rank", "rotating-rank", "lock", "memory", "scalar-decode", "pause")
HERE = Path(__file__).parent
SIDE, CLASSES = 64, 10
BLOCKS = (SIDE // 8) ** 2 * 3
PIXELS = BLOCKS * 64
READ_S, SLOW_READ_S = 0.004, 0.080
FAST, SLOW = ("-O3", "-march=native", "-ffast-math"), ("-O1", "-fno-tree-vectorize")
COMPILERS = {"c": "cc", "cpp": "c++"}
STRIDE = 64
OBJECTS = 3_000_000
PAUSE_EVERY = 5
MANY_WORKERS = 4


def has(options: argparse.Namespace, fault: str) -> bool:
    """Whether a fault is there, and not removed."""
    return options.fault == fault and not options.mended


def compiled(flags: tuple[str, ...], language: str = "c") -> ctypes.CDLL:
    """The decoder, built with these flags."""
    folder = Path(tempfile.gettempdir()) / "mlperf-whole-run"
    folder.mkdir(exist_ok=True)
    library = folder / f"decode-{language}{'-'.join(flags)}-{os.getpid()}.so"
    command = [COMPILERS[language], *flags, "-g", "-shared", "-fPIC", "-o", str(library), str(HERE / f"decode.{language}")]
    subprocess.run(command, check=True)  # noqa: S603 - the compiler, on our own file
    return ctypes.CDLL(str(library))


class Loader:
    """Workers that read coefficients from storage and decode them, some batches ahead."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.decode = compiled(SLOW if has(options, "scalar-decode") else FAST, options.decoder).decode_blocks
        waves = np.cos((2 * np.arange(8)[:, None] + 1) * np.arange(8)[None, :] * np.pi / 16)
        self.basis = np.einsum("xu,yv->uvxy", waves, waves).reshape(64, 64).astype(np.float32).copy()
        self.quantisers = (1.0 / (1.0 + np.arange(64))).astype(np.float32)
        self.handle_lock = threading.Lock()
        self.ready: queue.Queue = queue.Queue(maxsize=4)
        self.wanted = iter(range(options.steps))
        self.next_lock = threading.Lock()
        many = options.fault == "lock" or (options.fault == "slow-loader" and options.mended)
        for number in range(MANY_WORKERS if many else options.workers):
            threading.Thread(target=self.work, args=(number,), name=f"loader {number}", daemon=True).start()

    def next(self) -> tuple[np.ndarray, np.ndarray]:
        """A batch, as soon as one is ready."""
        return self.ready.get()

    def work(self, number: int) -> None:
        """Make batches until there are enough."""
        rng = np.random.default_rng((self.options.seed, number))
        while True:
            with self.next_lock:
                if next(self.wanted, None) is None:
                    return
            coefficients = self.read(rng)
            self.ready.put((self.decoded(coefficients), rng.integers(0, CLASSES, self.options.batch)))

    def read(self, rng: np.random.Generator) -> np.ndarray:
        """Coefficients from storage, which takes its time."""
        if has(self.options, "lock"):
            with self.handle_lock:
                time.sleep(SLOW_READ_S)
        else:
            time.sleep(SLOW_READ_S if self.options.fault in ("slow-loader", "lock") else READ_S)
        return rng.integers(-8, 8, (self.options.batch, BLOCKS, 64), dtype=np.int8)

    def decoded(self, coefficients: np.ndarray) -> np.ndarray:
        """Pixels; the C function lets other threads run meanwhile."""
        pixels = np.empty((len(coefficients), PIXELS), dtype=np.float32)
        pointers = [each.ctypes.data_as(ctypes.c_void_p) for each in (coefficients, self.quantisers, self.basis, pixels)]
        self.decode(*pointers, ctypes.c_long(len(coefficients) * BLOCKS))
        return pixels


class Synthetic:
    """Batches of noise that are always there: what training takes by itself."""

    def __init__(self, options: argparse.Namespace) -> None:
        rng = np.random.default_rng(options.seed)
        self.batch = rng.random((options.batch, PIXELS), dtype=np.float32), rng.integers(0, CLASSES, options.batch)

    def next(self) -> tuple[np.ndarray, np.ndarray]:
        """The same batch again."""
        return self.batch


class Network:
    """Two layers, softmax, plain gradients; all weights in one array, so that one exchange and one update do."""

    def __init__(self, options: argparse.Namespace) -> None:
        rng = np.random.default_rng(options.seed)
        self.hidden = options.hidden
        self.weights = (rng.standard_normal(PIXELS * self.hidden + self.hidden * CLASSES) * 0.01).astype(np.float32)
        self.gradient = np.zeros_like(self.weights)
        self.first, self.second = self.parts(self.weights)

    def parts(self, flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Both layers as views."""
        cut = PIXELS * self.hidden
        return flat[:cut].reshape(PIXELS, self.hidden), flat[cut:].reshape(self.hidden, CLASSES)

    def forward(self, pixels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Hidden values and class probabilities."""
        hidden = np.maximum(pixels @ self.first, 0.0)
        scores = hidden @ self.second
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        return hidden, odds / odds.sum(axis=1, keepdims=True)

    def backward(self, pixels: np.ndarray, hidden: np.ndarray, odds: np.ndarray, labels: np.ndarray) -> None:
        """Gradient of the mean cross entropy."""
        wrong = odds
        wrong[np.arange(len(labels)), labels] -= 1.0
        wrong /= len(labels)
        first, second = self.parts(self.gradient)
        np.matmul(hidden.T, wrong, out=second)
        np.matmul(pixels.T, (wrong @ self.second.T) * (hidden > 0), out=first)

    def update(self, rate: float, in_pieces: bool) -> None:
        """One pass over contiguous arrays; or every 64th weight, 64 times over."""
        if in_pieces:
            for offset in range(STRIDE):
                self.weights[offset::STRIDE] -= rate * self.gradient[offset::STRIDE]
            return
        block = 1 << 16
        for start in range(0, len(self.weights), block):
            self.weights[start : start + block] -= rate * self.gradient[start : start + block]


class Ranks:
    """The processes of a run: one without MPI."""

    def __init__(self) -> None:
        self.rank, self.size, self.comm = 0, 1, None
        if any(name in os.environ for name in ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK")):
            from mpi4py import MPI

            self.comm = MPI.COMM_WORLD
            self.rank, self.size = self.comm.Get_rank(), self.comm.Get_size()

    def sum(self, values: np.ndarray) -> None:
        """The sum over all ranks, in place."""
        if self.comm is not None:
            from mpi4py import MPI

            self.comm.Allreduce(MPI.IN_PLACE, values)


def late(options: argparse.Namespace, ranks: Ranks, step: int) -> bool:
    """Whether this rank is the slow one of this step."""
    if has(options, "slow-rank"):
        return ranks.rank == ranks.size - 1
    return has(options, "rotating-rank") and step % ranks.size == ranks.rank


def train(options: argparse.Namespace) -> list[float]:
    """Train, and return how long each step took, seconds."""
    ranks, network = Ranks(), Network(options)
    loader = Synthetic(options) if options.input == "synthetic" else Loader(options)
    kept = [{"sample": number} for number in range(OBJECTS)] if options.fault == "pause" else []
    gc.collect()
    if not has(options, "pause"):
        gc.freeze()
    times = []
    for step in range(options.steps):
        begun = time.perf_counter()
        with region("step"):
            with region("load"):
                pixels, labels = loader.next()
            with region("forward"):
                compute_again = late(options, ranks, step)
                hidden, odds = network.forward(pixels)
                time.sleep(options.device_ms * 1e-3 * (2 if compute_again else 1))
            with region("backward"):
                network.backward(pixels, hidden, odds, labels)
                time.sleep(options.device_ms * 1e-3)
            if ranks.size > 1:
                with region("allreduce"):
                    ranks.sum(network.gradient)
            with region("update", 3 * network.weights.nbytes):
                network.update(0.01 / ranks.size, has(options, "memory"))
            if kept and step % PAUSE_EVERY == PAUSE_EVERY - 1:
                gc.collect()
        times.append(time.perf_counter() - begun)
    return times


def main() -> None:
    """Read the options, train, write the log."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--fault", choices=FAULTS, default="none")
    parser.add_argument("--mended", action="store_true", help="the fault's settings with the fault removed, as the hint says")
    parser.add_argument("--input", choices=("real", "synthetic"), default="real", help="batches that are decoded, or always there")
    parser.add_argument("--decoder", choices=COMPILERS, default="c", help="the language that the decoder is written in")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--hidden", type=int, default=384)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--device-ms", type=float, default=0.0, help="wait for an accelerator in forward and in backward")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", type=Path, help="JSON file that gets the length of every step, seconds")
    options = parser.parse_args()
    times = train(options)
    if options.log:
        name = options.log.stem + (f"-{os.environ['PMI_RANK']}" if "PMI_RANK" in os.environ else "")
        options.log.with_name(name + options.log.suffix).write_text(json.dumps({"step_s": times}))
    print(f"{len(times)} steps of {np.mean(times[1:]) * 1e3:.1f} ms")


if __name__ == "__main__":
    main()
