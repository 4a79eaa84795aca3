"""Train a convolutional network with PyTorch, with a fault planted on request: something for ``mlperf record`` to find.

Worker processes of a ``DataLoader`` read coefficients and decode them by a C function, a network of two convolutions and two linear
layers is trained on the pictures, and under ``torchrun`` gradients are summed over the ranks. With ``--device-ms`` forward and
backward wait for an accelerator that is not there, so that several ranks fit on a small machine. With ``--profile`` PyTorch's own
profiler writes kernels and operators too; with ``--traceml`` the same run tells TraceML of its steps.

    mlperf record -o slow -- python torch_train.py --fault slow-loader
    mlperf record advise slow
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, Dataset
from train import BLOCKS, CLASSES, FAST, FAULTS, MANY_WORKERS, OBJECTS, PAUSE_EVERY, PIXELS, SIDE, SLOW, compiled, has, late, region

try:
    from mlperf.traces.recording import torch_profile
except ImportError:

    def torch_profile(**_options: object) -> nullcontext:
        """No toolkit, no profile."""
        return nullcontext()


READ_S, SLOW_READ_S = 0.004, 0.160
STRIDE = 64


class Pictures(Dataset):
    """Batches: coefficients from storage, which takes its time, decoded to pixels."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.decode = compiled(SLOW if has(options, "scalar-decode") else FAST).decode_blocks
        waves = np.cos((2 * np.arange(8)[:, None] + 1) * np.arange(8)[None, :] * np.pi / 16)
        self.basis = np.einsum("xu,yv->uvxy", waves, waves).reshape(64, 64).astype(np.float32).copy()
        self.quantisers = (1.0 / (1.0 + np.arange(64))).astype(np.float32)
        self.handle_lock = torch.multiprocessing.get_context("fork").Lock()

    def __len__(self) -> int:
        """One batch a step."""
        return self.options.steps

    def __getitem__(self, number: int) -> tuple[torch.Tensor, torch.Tensor]:
        """A batch of pixels and labels."""
        rng = np.random.default_rng((self.options.seed, number))
        self.wait_for_storage()
        coefficients = rng.integers(-8, 8, (self.options.batch, BLOCKS, 64), dtype=np.int8)
        pixels = np.empty((self.options.batch, PIXELS), dtype=np.float32)
        pointers = [each.ctypes.data for each in (coefficients, self.quantisers, self.basis, pixels)]
        self.decode(*map(_pointer, pointers), _long(self.options.batch * BLOCKS))
        labels = rng.integers(0, CLASSES, self.options.batch)
        return torch.from_numpy(pixels.reshape(-1, 3, SIDE, SIDE)), torch.from_numpy(labels)

    def wait_for_storage(self) -> None:
        """One reader at a time where there is only one handle."""
        if has(self.options, "lock"):
            with self.handle_lock:
                time.sleep(SLOW_READ_S)
        else:
            time.sleep(SLOW_READ_S if self.options.fault in ("slow-loader", "lock") else READ_S)


def _pointer(address: int):
    import ctypes

    return ctypes.c_void_p(address)


def _long(value: int):
    import ctypes

    return ctypes.c_long(value)


class InPieces(torch.optim.SGD):
    """Plain gradients, every 64th weight at a time, 64 times over."""

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # noqa: ARG002 - as optimizers are called
        """One update of all weights."""
        for group in self.param_groups:
            for weights in group["params"]:
                flat, gradient = weights.view(-1), weights.grad.reshape(-1)
                for offset in range(STRIDE):
                    flat[offset::STRIDE].sub_(gradient[offset::STRIDE], alpha=group["lr"])


class WaitBack(torch.autograd.Function):
    """Scores as they are; gradients after the time that an accelerator would take for them."""

    @staticmethod
    def forward(context, scores: torch.Tensor, wait_s: float) -> torch.Tensor:
        """Nothing to do."""
        context.wait_s = wait_s
        return scores.view_as(scores)

    @staticmethod
    def backward(context, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        """Wait."""
        time.sleep(context.wait_s)
        return gradient, None


class Network(nn.Module):
    """Two convolutions, two linear layers, and the accelerator that is not there."""

    def __init__(self, hidden: int, device_s: float) -> None:
        super().__init__()
        convolutions = [nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU()]
        linear = [nn.Flatten(), nn.Linear(16 * (SIDE // 4) ** 2, hidden), nn.ReLU(), nn.Linear(hidden, CLASSES)]
        self.layers = nn.Sequential(*convolutions, *linear)
        self.device_s, self.again = device_s, False

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        """Scores."""
        time.sleep(self.device_s * (2 if self.again else 1))
        return WaitBack.apply(self.layers(pixels), self.device_s)


class Ranks:
    """The processes of a run: one without ``torchrun``."""

    def __init__(self) -> None:
        self.size = int(os.environ.get("WORLD_SIZE", "1"))
        self.rank = int(os.environ.get("RANK", "0"))
        if self.size > 1:
            dist.init_process_group("gloo")

    def sum(self, parameters: list[nn.Parameter]) -> None:
        """Gradients of all ranks, their mean in place."""
        flat = torch.cat([each.grad.view(-1) for each in parameters])
        dist.all_reduce(flat)
        flat /= self.size
        for each, part in zip(parameters, flat.split([each.numel() for each in parameters]), strict=True):
            each.grad.copy_(part.view_as(each))


def train(options: argparse.Namespace, profiler: object) -> list[float]:
    """Train, and return how long each step took, seconds."""
    torch.manual_seed(options.seed)
    torch.set_num_threads(1)
    ranks, model = Ranks(), Network(options.hidden, options.device_ms * 1e-3)
    trained = nn.parallel.DistributedDataParallel(model) if options.ddp else model
    pictures = Pictures(options)
    optimizer = (InPieces if has(options, "memory") else torch.optim.SGD)(model.parameters(), lr=0.01)
    many = options.fault == "lock" or (options.fault == "slow-loader" and options.mended)
    loader = DataLoader(
        pictures, batch_size=None, num_workers=MANY_WORKERS if many else options.workers, multiprocessing_context="fork"
    )
    batches = iter(loader)
    kept = [{"sample": number} for number in range(OBJECTS)] if options.fault == "pause" else []
    gc.collect()
    if not has(options, "pause"):
        gc.freeze()
    times = []
    for step in range(options.steps):
        begun = time.perf_counter()
        with region("step"):
            with region("load"):
                pixels, labels = next(batches)
            model.again = late(options, ranks, step)
            with traced_step(options, trained):
                one_step(ranks if not options.ddp else None, trained, optimizer, pixels, labels)
                if kept and step % PAUSE_EVERY == PAUSE_EVERY - 1:
                    gc.collect()
        times.append(time.perf_counter() - begun)
        if profiler is not None:
            profiler.step()
    if ranks.size > 1:
        dist.destroy_process_group()
    return times


def one_step(
    ranks: Ranks | None, model: nn.Module, optimizer: torch.optim.Optimizer, pixels: torch.Tensor, labels: torch.Tensor
) -> None:
    """What is done with a batch; ranks that are None exchange their gradients themselves."""
    with region("forward"):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(pixels), labels)
    with region("backward"):
        loss.backward()
    if ranks is not None and ranks.size > 1:
        with region("allreduce"):
            ranks.sum(list(model.parameters()))
    n_bytes = 3 * 4 * sum(each.numel() for each in model.parameters())
    with region("update", n_bytes):
        optimizer.step()


def traced_step(options: argparse.Namespace, model: nn.Module) -> AbstractContextManager:
    """TraceML's own mark of a step, where it is asked for; as its first page shows it, loading stands before."""
    if not options.traceml:
        return nullcontext()
    import traceml_ai

    return traceml_ai.trace_step(model)


def main() -> None:
    """Read the options, train, write the log."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--fault", choices=FAULTS, default="none")
    parser.add_argument("--mended", action="store_true", help="the fault's settings with the fault removed, as the hint says")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--hidden", type=int, default=768)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--device-ms", type=float, default=0.0, help="wait for an accelerator in forward and in backward")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--times", type=Path, help="JSON file that gets the length of every step, seconds")
    parser.add_argument("--profile", action="store_true", help="run PyTorch's profiler, where mlperf record runs")
    parser.add_argument("--ddp", action="store_true", help="let DistributedDataParallel sum gradients while it computes them")
    parser.add_argument("--traceml", action="store_true", help="tell TraceML of every step")
    options = parser.parse_args()
    if options.traceml:
        import traceml_ai

        traceml_ai.init(mode="auto")
    with torch_profile() if options.profile else nullcontext() as profiler:
        times = train(options, profiler)
    if options.times:
        name = options.times.stem + (f"-{os.environ['RANK']}" if "RANK" in os.environ else "")
        options.times.with_name(name + options.times.suffix).write_text(json.dumps({"step_s": times}))
    print(f"{len(times)} steps of {np.mean(times[1:]) * 1e3:.1f} ms")


if __name__ == "__main__":
    main()
