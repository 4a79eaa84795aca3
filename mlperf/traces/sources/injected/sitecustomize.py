"""Stands before a program's own start: a thread writes down where all threads are, and collections when they happen.

Knows nothing but Python's own library, since the program's Python need not have ours. Lines of the file, each a word and fields
separated by tabs: ``S number file stack`` and ``L file:line text`` explain the numbers in ``T time thread stack line elapsed cpu``;
``N thread name``; ``G begin end generation thread``. Times are nanoseconds of CLOCK_MONOTONIC.
"""

import gc
import os
import sys

DEEPEST = 64
SHORTEST_COLLECTION_NS = 100_000
LONGEST_END_S = 1.0


class _Sampler:
    """The file of one process, and the thread that writes it."""

    def __init__(self, folder, every_s):
        import threading
        import time

        self.folder, self.every_s, self.threading, self.time = folder, every_s, threading, time
        self.begin()

    def begin(self):
        """A file and a thread of its own for this process: at the start, and in a child that was forked."""
        self.lock, self.collections, self.begun_ns = self.threading.RLock(), [], 0
        path = os.path.join(self.folder, f"{os.getpid()}.stacks")
        self.file = open(path, "a", buffering=1 << 14, errors="backslashreplace")
        self.stacks, self.lines, self.threads, self.last = {}, set(), {}, {}
        self.is_over = False
        self.thread = self.threading.Thread(target=self.run, name="mlperf stacks", daemon=True)
        self.thread.start()

    def end(self):
        """Leave before the interpreter ends: it kills threads that are still there, which libraries of C++ may not survive."""
        self.is_over = True
        self.thread.join(LONGEST_END_S)
        self.flush()

    def before_fork(self):
        """Leave nothing in the buffer: a child that drops its parent's file would write it once more."""
        self.lock.acquire()
        self.flush()

    def after_fork(self):
        """The parent goes on."""
        self.lock.release()

    def run(self):
        """Look at all threads, again and again."""
        while not self.is_over:
            self.time.sleep(self.every_s)
            with self.lock:
                self.look(self.threading.get_ident())

    def look(self, own):
        """Where all threads but our own are; then the file holds it."""
        known = {thread.ident: thread for thread in self.threading.enumerate()}
        at = self.time.monotonic_ns()
        for ident, place in places_of_others(own):
            self.sample(at, ident, place, known.get(ident))
        for ident in [ident for ident in self.last if ident not in known]:
            del self.last[ident]
            self.threads.pop(ident, None)
        # Workers of multiprocessing end without a goodbye.
        self.flush()

    def sample(self, at, ident, place, thread):
        """Where one thread stands, since when, and how much of that it ran."""
        line, codes = place
        tid = getattr(thread, "native_id", None) or 0
        if ident not in self.threads:
            self.threads[ident] = tid
            self.write("N", tid, thread.name if thread is not None else "")
        stack, name = stack_of(codes), codes[0].co_filename
        if stack not in self.stacks:
            self.stacks[stack] = len(self.stacks)
            self.write("S", self.stacks[stack], name, stack)
        cpu = self.cpu_ns(ident)
        since, used = self.last.get(ident, (at - int(self.every_s * 1e9), cpu))
        self.last[ident] = (at, cpu)
        self.write("T", at, tid, self.stacks[stack], self.explained(name, line), at - since, max(cpu - used, 0))

    def explained(self, name, line):
        """The line where a function stands; its text is written once."""
        import linecache

        if (name, line) not in self.lines:
            self.lines.add((name, line))
            self.write("L", f"{name}:{line}", linecache.getline(name, line).strip().replace("\t", " ")[:200])
        return line

    def cpu_ns(self, ident):
        """Processor time of a thread; 0 where it has just ended."""
        try:
            return self.time.clock_gettime_ns(self.time.pthread_getcpuclockid(ident))
        except OSError:
            return 0

    def write(self, *fields):
        """One line."""
        self.file.write("\t".join(map(str, fields)) + "\n")

    def flush(self):
        """Collections that were remembered, then all of it to the file."""
        while self.collections:
            self.write("G", *self.collections.pop(0))
        self.file.flush()

    def collected(self, phase, info):
        """A collection may begin inside any statement, so that it is only remembered here."""
        now = self.time.monotonic_ns()
        if phase == "start":
            self.begun_ns = now
        elif self.begun_ns and now - self.begun_ns > SHORTEST_COLLECTION_NS:
            self.collections.append((self.begun_ns, now, info.get("generation", -1), self.threading.get_native_id()))


def places_of_others(own):
    """(ident, (line, functions from the innermost to the root)) of all threads but one's own.

    Nothing is collected meanwhile: a collection that begins where Python 3.11 makes an object of a frame lets other threads leave
    that frame, and what is read of it afterwards is anything, or a crash. Frames are let go at once, with all that they hold.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return [(ident, place_of(user_of_lock(frame))) for ident, frame in sys._current_frames().items() if ident != own]
    finally:
        if was_enabled:
            gc.enable()


def place_of(frame):
    """Line of a frame, and the functions from it to the root."""
    line, codes = frame.f_lineno or 0, []
    while frame is not None and len(codes) < DEEPEST:
        codes.append(frame.f_code)
        frame = frame.f_back
    return line, codes


def user_of_lock(frame):
    """Who asks for a lock between processes: its ``with`` is a function of Python, other locks have none."""
    code = frame.f_code
    is_lock = code.co_name == "__enter__" and code.co_filename.endswith(os.path.join("multiprocessing", "synchronize.py"))
    return frame.f_back if is_lock and frame.f_back is not None else frame


def stack_of(codes):
    """Functions from the root, joined by semicolons."""
    names = (f"{qualified(code)} ({os.path.basename(code.co_filename)}:{code.co_firstlineno})" for code in reversed(codes))
    return ";".join(name.replace(";", ",") for name in names)


def qualified(code):
    """Name of a function, with its class where Python tells it."""
    return getattr(code, "co_qualname", code.co_name)


def _begin():
    folder = os.environ.get("MLPERF_PYTHON_STACKS")
    if not folder:
        return
    try:
        import atexit

        sampler = _Sampler(folder, float(os.environ.get("MLPERF_PYTHON_STACKS_EVERY_S", "0.02")))
        gc.callbacks.append(sampler.collected)
        atexit.register(sampler.end)
        os.register_at_fork(before=sampler.before_fork, after_in_parent=sampler.after_fork, after_in_child=sampler.begin)
    except Exception as error:
        print(f"mlperf record: no Python stacks of process {os.getpid()} ({error})", file=sys.stderr)


def _chain():
    """The program's own sitecustomize, which this file hides."""
    import importlib.machinery
    import importlib.util

    here = os.path.dirname(os.path.abspath(__file__))
    rest = [each for each in sys.path if os.path.abspath(each or ".") != here]
    found = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
    if found is not None and found.loader is not None:
        module = importlib.util.module_from_spec(found)
        found.loader.exec_module(module)


_begin()
_chain()
