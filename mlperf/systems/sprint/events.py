"""The events of SPRINT's Algorithms 1 and 2: what happens at each, who waits, what is counted. Compiled where numba is present.

Threads are numbered GPUs first, node by node, then one update thread per node. A thread has at most one event ahead of it, so
the calendar is a tournament tree over threads; equal times are served in the order of scheduling. No thread ever holds two locks,
so there is no deadlock. Arrays go from function to function one by one, and there are few of them: a tuple of all of them makes the
compiled code ten times slower.

``state`` and ``clock`` have one column per thread and the rows named below. Where GPUs and update threads share a row, the first
word of its comment is for GPUs.
"""

from __future__ import annotations

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.jit import jit

# What a thread's next event is.
FETCHED, GRADIENT_READY, DEPOSITED, UPDATE_START, SUMMED, ARRIVED, WANT_WEIGHTS, PUBLISHED = range(8)

KIND, ORDER = 0, 1
VERSION = 2  # held | published
BUSY = 3  # the GPU's gradient buffer | the node's weights
COUNT = 4  # gradients in the buffer | fresh buffers of this update
STEP = 5  # iterations begun | position in the walk over the buffers
BEHIND, FIRST, LAST = 6, 7, 8  # the queue for the weights, a linked list of threads
N_STATE_ROWS = 9

NEXT_S = 0
SINCE_S = 1  # asked for the weights at | the same, or arrived at the barrier at
GPU_WAITS_S, UPDATE_WAITS_S = 2, 3  # who waits for this GPU's buffer since when
BEGAN_S = 4  # what ends with the next event began at
N_CLOCK_ROWS = 5

SEQUENCE, RELEASES, ARRIVALS, DEPOSITS, FETCHES, EVENTS, WARMUP, STATUS, N_GPUS, GPUS_OF_NODE, N_NODES, N_COUNTS = range(12)
FETCH, DEPOSIT, SUM, PREPARE, COMBINE, FINISH, OVERWRITE = range(7)
# Total waits; they share the array of the durations, whose columns are drawn occurrences (one where nothing varies).
WEIGHTS_GPU, GRADIENT_GPU, GRADIENT_UPDATE, WEIGHTS_UPDATE, BARRIER, N_SECONDS = range(7, 13)
GRADIENTS, DEPOSITS_SO_FAR, AGE_SUM, N_UPDATE_ROWS = range(4)
RELEASE_S, COMBINE_FACTOR, N_UPDATE_TIMES = range(3)

DONE, MORE_JITTER, MORE_BUFFER, MORE_STALENESS = range(1, 5)
NOBODY = -1


@jit
def run_events(
    state: IntArray,
    clock: FloatArray,
    tree: IntArray,
    counts: IntArray,
    seconds: FloatArray,
    work_s: FloatArray,
    buffer: IntArray,
    update: IntArray,
    update_s: FloatArray,
    staleness: IntArray,
    fresh: IntArray,
    log: FloatArray,
) -> None:
    """Run scheduled threads until the last update is released or an array is too small; ``counts[STATUS]`` says which."""
    n_gpus = counts[N_GPUS]
    while counts[STATUS] == 0:
        thread = tree[1]
        now, kind = clock[NEXT_S, thread], state[KIND, thread]
        _log(log, counts, now, thread, kind, clock[BEGAN_S, thread])
        clock[NEXT_S, thread] = np.inf
        node_thread = n_gpus + thread // counts[GPUS_OF_NODE]
        if kind == GRADIENT_READY:
            _deposit(state, clock, tree, counts, seconds, now, thread)
        elif kind == DEPOSITED:
            _deposited(state, counts, buffer, thread)
            if clock[UPDATE_WAITS_S, thread] >= 0.0:
                _waited(counts, seconds, GRADIENT_UPDATE, now - clock[UPDATE_WAITS_S, thread])
                clock[UPDATE_WAITS_S, thread] = NOBODY
                _sum_step(state, clock, tree, counts, seconds, now, node_thread)
            _request_weights(state, clock, tree, counts, seconds, work_s, now, thread, node_thread)
        elif kind == FETCHED:
            _work(state, clock, tree, counts, work_s, now, thread)
            _release_weights(state, clock, tree, counts, seconds, work_s, now, node_thread)
        elif kind == SUMMED:
            gpu = _gpu_at_walk(state, counts, thread)
            _count_gradients(state, counts, buffer, update, staleness, thread, gpu)
            state[BUSY, gpu] = 0
            if clock[GPU_WAITS_S, gpu] >= 0.0:
                _waited(counts, seconds, GRADIENT_GPU, now - clock[GPU_WAITS_S, gpu])
                clock[GPU_WAITS_S, gpu] = NOBODY
                _deposit(state, clock, tree, counts, seconds, now, gpu)
            state[STEP, thread] += 1
            _sum_step(state, clock, tree, counts, seconds, now, thread)
        elif kind == UPDATE_START:
            state[STEP, thread] = 0
            state[COUNT, thread] = 0
            _sum_step(state, clock, tree, counts, seconds, now, thread)
        elif kind == ARRIVED:
            clock[SINCE_S, thread] = now
            counts[ARRIVALS] += 1
            if _counting(counts):
                fresh[state[COUNT, thread]] += 1
            if counts[ARRIVALS] == counts[N_NODES]:
                _combine(state, clock, tree, counts, seconds, update, update_s, now)
        elif kind == WANT_WEIGHTS:
            _request_weights(state, clock, tree, counts, seconds, work_s, now, thread, thread)
        else:
            state[VERSION, thread] += 1
            _release_weights(state, clock, tree, counts, seconds, work_s, now, thread)
            schedule(state, clock, tree, counts, thread, now, UPDATE_START)
        if clock[NEXT_S, thread] == np.inf:
            _replay(state, clock, tree, thread)


@jit
def schedule(state: IntArray, clock: FloatArray, tree: IntArray, counts: IntArray, thread: int, at_s: float, kind: int) -> None:
    """Give a thread its next event."""
    counts[SEQUENCE] += 1
    clock[NEXT_S, thread] = at_s
    state[ORDER, thread] = counts[SEQUENCE]
    state[KIND, thread] = kind
    _replay(state, clock, tree, thread)


@jit
def _occupy(
    state: IntArray,
    clock: FloatArray,
    tree: IntArray,
    counts: IntArray,
    seconds: FloatArray,
    thread: int,
    from_s: float,
    what: int,
    kind: int,
) -> None:
    """Let a thread do something for one of its drawn durations; ``kind`` is the event that ends it."""
    clock[BEGAN_S, thread] = from_s
    turn = (counts[SEQUENCE] + 1) % seconds.shape[1]
    schedule(state, clock, tree, counts, thread, from_s + seconds[what, turn], kind)


@jit
def _replay(state: IntArray, clock: FloatArray, tree: IntArray, thread: int) -> None:
    """Play the tournament again along the path from one thread to the winner."""
    best, best_s = thread, clock[NEXT_S, thread]
    place = tree.size // 2 + thread
    while place > 1:
        rival = tree[place ^ 1]
        rival_s = clock[NEXT_S, rival]
        if rival_s < best_s or (rival_s == best_s and state[ORDER, rival] < state[ORDER, best]):
            best, best_s = rival, rival_s
        place //= 2
        tree[place] = best


@jit
def _log(log: FloatArray, counts: IntArray, now: float, thread: int, kind: int, began_s: float) -> None:
    row = counts[EVENTS]
    if row < log.shape[0]:
        log[row, 0] = now
        log[row, 1] = thread
        log[row, 2] = kind
        log[row, 3] = began_s
    counts[EVENTS] = row + 1


@jit
def _counting(counts: IntArray) -> bool:
    return bool(counts[RELEASES] > counts[WARMUP])


@jit
def _waited(counts: IntArray, seconds: FloatArray, lock: int, wait_s: float) -> None:
    if _counting(counts):
        seconds[lock, 0] += wait_s


@jit
def _work(state: IntArray, clock: FloatArray, tree: IntArray, counts: IntArray, work_s: FloatArray, now: float, gpu: int) -> None:
    iteration = state[STEP, gpu]
    clock[BEGAN_S, gpu] = now
    schedule(state, clock, tree, counts, gpu, now + work_s[gpu, iteration], GRADIENT_READY)
    state[STEP, gpu] = iteration + 1
    if iteration + 1 == work_s.shape[1]:
        counts[STATUS] = MORE_JITTER


@jit
def _deposit(
    state: IntArray, clock: FloatArray, tree: IntArray, counts: IntArray, seconds: FloatArray, now: float, gpu: int
) -> None:
    if state[BUSY, gpu]:
        clock[GPU_WAITS_S, gpu] = now
    else:
        state[BUSY, gpu] = 1
        _occupy(state, clock, tree, counts, seconds, gpu, now, DEPOSIT, DEPOSITED)


@jit
def _deposited(state: IntArray, counts: IntArray, buffer: IntArray, gpu: int) -> None:
    n_gradients = state[COUNT, gpu] + 1
    buffer[gpu, n_gradients - 1] = state[VERSION, gpu]
    state[COUNT, gpu] = n_gradients
    state[BUSY, gpu] = 0
    counts[DEPOSITS] += 1
    if n_gradients == buffer.shape[1]:
        counts[STATUS] = MORE_BUFFER


@jit
def _gpu_at_walk(state: IntArray, counts: IntArray, node_thread: int) -> int:
    return int((node_thread - counts[N_GPUS]) * counts[GPUS_OF_NODE] + state[STEP, node_thread])


@jit
def _sum_step(
    state: IntArray, clock: FloatArray, tree: IntArray, counts: IntArray, seconds: FloatArray, now: float, node_thread: int
) -> None:
    """Walk on over the buffers: wait for a busy one, add a fresh one, skip stale ones in zero time; then prepare the all-reduce."""
    while state[STEP, node_thread] < counts[GPUS_OF_NODE]:
        gpu = _gpu_at_walk(state, counts, node_thread)
        if state[BUSY, gpu]:
            clock[UPDATE_WAITS_S, gpu] = now
            return
        if state[COUNT, gpu] > 0:
            state[BUSY, gpu] = 1
            _occupy(state, clock, tree, counts, seconds, node_thread, now, SUM, SUMMED)
            return
        state[STEP, node_thread] += 1
    _occupy(state, clock, tree, counts, seconds, node_thread, now, PREPARE, ARRIVED)


@jit
def _count_gradients(
    state: IntArray, counts: IntArray, buffer: IntArray, update: IntArray, staleness: IntArray, node_thread: int, gpu: int
) -> None:
    """Count the gradients of a buffer and their staleness, and empty it."""
    n_gradients, at = state[COUNT, gpu], counts[RELEASES]
    state[COUNT, gpu] = 0
    state[COUNT, node_thread] += 1
    update[GRADIENTS, at] += n_gradients
    if not _counting(counts):
        return
    for i in range(n_gradients):
        age = state[VERSION, node_thread] - buffer[gpu, i]
        if age >= staleness.size:
            counts[STATUS] = MORE_STALENESS
            return
        staleness[age] += 1
        update[AGE_SUM, at] += age


@jit
def _combine(
    state: IntArray,
    clock: FloatArray,
    tree: IntArray,
    counts: IntArray,
    seconds: FloatArray,
    update: IntArray,
    update_s: FloatArray,
    now: float,
) -> None:
    """The last node has arrived: all-reduce and release every node."""
    at = counts[RELEASES]
    release_s = now + seconds[COMBINE, 0] * update_s[COMBINE_FACTOR, at]
    for node_thread in range(counts[N_GPUS], counts[N_GPUS] + counts[N_NODES]):
        _waited(counts, seconds, BARRIER, now - clock[SINCE_S, node_thread])
        _occupy(state, clock, tree, counts, seconds, node_thread, release_s, FINISH, WANT_WEIGHTS)
    update_s[RELEASE_S, at] = release_s
    update[DEPOSITS_SO_FAR, at] = counts[DEPOSITS]
    counts[ARRIVALS] = 0
    counts[RELEASES] = at + 1
    if at + 1 == update.shape[1]:
        counts[STATUS] = DONE


@jit
def _request_weights(
    state: IntArray,
    clock: FloatArray,
    tree: IntArray,
    counts: IntArray,
    seconds: FloatArray,
    work_s: FloatArray,
    now: float,
    thread: int,
    node_thread: int,
) -> None:
    clock[SINCE_S, thread] = now
    if not state[BUSY, node_thread]:
        _grant_weights(state, clock, tree, counts, seconds, work_s, now, thread, node_thread)
        return
    state[BEHIND, thread] = NOBODY
    if state[FIRST, node_thread] == NOBODY:
        state[FIRST, node_thread] = thread
    else:
        state[BEHIND, state[LAST, node_thread]] = thread
    state[LAST, node_thread] = thread


@jit
def _grant_weights(
    state: IntArray,
    clock: FloatArray,
    tree: IntArray,
    counts: IntArray,
    seconds: FloatArray,
    work_s: FloatArray,
    now: float,
    thread: int,
    node_thread: int,
) -> None:
    """Overwrite the weights, or copy them if they are new, or go to work at once."""
    wait_s = now - clock[SINCE_S, thread]
    if thread == node_thread:
        _waited(counts, seconds, WEIGHTS_UPDATE, wait_s)
        state[BUSY, node_thread] = 1
        _occupy(state, clock, tree, counts, seconds, thread, now, OVERWRITE, PUBLISHED)
        return
    _waited(counts, seconds, WEIGHTS_GPU, wait_s)
    if state[VERSION, node_thread] > state[VERSION, thread]:
        state[VERSION, thread] = state[VERSION, node_thread]
        state[BUSY, node_thread] = 1
        if _counting(counts):
            counts[FETCHES] += 1
        _occupy(state, clock, tree, counts, seconds, thread, now, FETCH, FETCHED)
    else:
        _work(state, clock, tree, counts, work_s, now, thread)


@jit
def _release_weights(
    state: IntArray,
    clock: FloatArray,
    tree: IntArray,
    counts: IntArray,
    seconds: FloatArray,
    work_s: FloatArray,
    now: float,
    node_thread: int,
) -> None:
    """Hand the weights on, first come first served, until someone holds them for a positive time."""
    state[BUSY, node_thread] = 0
    while state[FIRST, node_thread] != NOBODY and state[BUSY, node_thread] == 0:
        thread = state[FIRST, node_thread]
        state[FIRST, node_thread] = state[BEHIND, thread]
        _grant_weights(state, clock, tree, counts, seconds, work_s, now, thread, node_thread)
