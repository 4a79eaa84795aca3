"""Stands before a program's own start: a thread writes down where all threads are, and collections when they happen.

Knows nothing but Python's own library, since the program's Python need not have ours. Lines of the file, each a word and fields
separated by tabs: ``S number stack`` and ``L file:line text`` explain the numbers in ``T time thread stack line elapsed cpu``;
``N thread name``; ``G begin end generation thread``. Times are nanoseconds of CLOCK_MONOTONIC.
"""

import os
import sys


def _begin():
    folder = os.environ.get("MLPERF_PYTHON_STACKS")
    if not folder:
        return
    try:
        import atexit
        import gc
        import threading
        import time

        _start(folder, atexit, gc, threading, time)
    except Exception as error:
        print(f"mlperf record: no Python stacks of process {os.getpid()} ({error})", file=sys.stderr)


def _start(folder, atexit, gc, threading, time):
    every_s = float(os.environ.get("MLPERF_PYTHON_STACKS_EVERY_S", "0.02"))
    now = time.monotonic_ns
    state = {}

    def fresh():
        state["file"] = open(os.path.join(folder, f"{os.getpid()}.stacks"), "a", buffering=1 << 14, errors="backslashreplace")
        state["stacks"], state["lines"], state["threads"], state["last"] = {}, set(), {}, {}
        state["collections"] = []
        thread = threading.Thread(target=sample, name="mlperf stacks", daemon=True)
        thread.start()

    def cpu_ns(ident):
        try:
            return time.clock_gettime_ns(time.pthread_getcpuclockid(ident))
        except OSError:
            return 0

    def told(frame):
        names = []
        while frame is not None and len(names) < 64:
            code = frame.f_code
            name = getattr(code, "co_qualname", code.co_name)
            names.append(f"{name} ({os.path.basename(code.co_filename)}:{code.co_firstlineno})".replace(";", ","))
            frame = frame.f_back
        return ";".join(reversed(names))

    def write(*fields):
        state["file"].write("\t".join(map(str, fields)) + "\n")

    def line_of(frame):
        import linecache

        name, line = frame.f_code.co_filename, frame.f_lineno
        if (name, line) not in state["lines"]:
            state["lines"].add((name, line))
            text = linecache.getline(name, line).strip().replace("\t", " ")[:200]
            write("L", f"{name}:{line}", text)
        return line

    def sample():
        own = threading.get_ident()
        while True:
            time.sleep(every_s)
            at = now()
            numbers = {thread.ident: thread for thread in threading.enumerate()}
            for ident, frame in sys._current_frames().items():
                if ident == own:
                    continue
                tid = getattr(numbers.get(ident), "native_id", None) or 0
                if ident not in state["threads"]:
                    state["threads"][ident] = tid
                    write("N", tid, numbers[ident].name if ident in numbers else "")
                stack = told(frame)
                if stack not in state["stacks"]:
                    state["stacks"][stack] = len(state["stacks"])
                    write("S", state["stacks"][stack], f"{frame.f_code.co_filename}\t{stack}")
                cpu = cpu_ns(ident)
                before = state["last"].get(ident, (at - int(every_s * 1e9), cpu))
                write("T", at, tid, state["stacks"][stack], line_of(frame), at - before[0], cpu - before[1])
                state["last"][ident] = (at, cpu)
            for ident in [ident for ident in state["last"] if ident not in numbers]:
                del state["last"][ident]
                state["threads"].pop(ident, None)
            # Workers of multiprocessing end without a goodbye.
            flush()

    def flush():
        # A collection may begin inside any statement, so that its own callback only remembers it.
        while state["collections"]:
            write("G", *state["collections"].pop(0))
        state["file"].flush()

    def collected(phase, info):
        if phase == "start":
            state["collection"] = now()
        elif "collection" in state:
            begun, ended = state.pop("collection"), now()
            if ended - begun > 100_000:
                state["collections"].append((begun, ended, info.get("generation", -1), threading.get_native_id()))

    fresh()
    gc.callbacks.append(collected)
    atexit.register(flush)
    os.register_at_fork(after_in_child=fresh)


def _chain():
    """The program's own sitecustomize, which this file hides."""
    here = os.path.dirname(os.path.abspath(__file__))
    rest = [each for each in sys.path if os.path.abspath(each or ".") != here]
    import importlib.machinery
    import importlib.util

    found = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
    if found is not None and found.loader is not None:
        module = importlib.util.module_from_spec(found)
        found.loader.exec_module(module)


_begin()
_chain()
