/* Image compositing by binary swap, as PerWiz's second program has it (figure 8): the P partial images of a volume rendered by P
   processes become one in log2 P stages; in each, processes of a pair split the part of the image that both hold, exchange halves and
   composite what they got with what they kept. Transparent pixels are neither sent nor composited.

     compositing [--side N] [--frames F] [--ns-per-pixel T] [--split block|interleaved] [--exchange both|turns]

   The opaque part of every image is an ellipse in the middle. Blocks halve it evenly in the first stage and not at all evenly in
   the second; interleaved rows halve it evenly in every stage. Pixels (16 bytes) are really sent; compositing is waited for, not
   done: ranks may outnumber the cores. Rank 0 prints the seconds from a common start to the end of the last process. */
#define _GNU_SOURCE
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "mlperf_regions.h"

#define PIXEL_BYTES 16

static int side = 512, n_frames = 1, interleaved, in_turns;
static double ns_per_pixel = 100.0;

static void compute(double ns) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t total = until.tv_nsec + (int64_t)ns;
    until.tv_sec += total / 1000000000;
    until.tv_nsec = total % 1000000000;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL)) {
    }
}

/* Opaque pixels [first, last) of every row of a rank's own image. */
static void render(int rank, int n_ranks, int *first, int *last) {
    double middle = 0.5 * side, shift = 0.03 * side * (rank - 0.5 * (n_ranks - 1)) / n_ranks;
    double wide = 0.35 * side, high = 0.25 * side;
    for (int row = 0; row < side; row++) {
        double y = (row + 0.5 - middle) / high, x = y * y < 1 ? wide * sqrt(1 - y * y) : 0;
        first[row] = x > 0 ? (int)(middle + shift - x) : 0;
        last[row] = x > 0 ? (int)(middle + shift + x) : 0;
    }
}

/* Rows begin, begin + step, ..., n of them, are held; both halves by the chosen way. */
typedef struct { int begin, step, n; } rows;

static rows half(rows held, int second) {
    rows found = held;
    if (interleaved) {
        found.begin += second * held.step;
        found.step *= 2;
        found.n = (held.n + 1 - second) / 2;
    } else {
        found.n = second ? held.n - held.n / 2 : held.n / 2;
        found.begin += second ? held.n / 2 * held.step : 0;
    }
    return found;
}

static int opaque(rows held, const int *first, const int *last) {
    int total = 0;
    for (int at = 0, row = held.begin; at < held.n; at++, row += held.step) total += last[row] - first[row];
    return total;
}

static void exchange(char *out, int n_out, char *in, int most, int other, int tag, int is_first) {
    if (!in_turns) {
        MPI_Sendrecv(out, n_out, MPI_CHAR, other, tag, in, most, MPI_CHAR, other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
    if (is_first) MPI_Send(out, n_out, MPI_CHAR, other, tag, MPI_COMM_WORLD);
    MPI_Recv(in, most, MPI_CHAR, other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!is_first) MPI_Send(out, n_out, MPI_CHAR, other, tag, MPI_COMM_WORLD);
}

static rows stage(int bit, int own, rows held, int *first, int *last, char *out, char *in) {
    int other = own ^ bit, *header = (int *)out, *got = (int *)in;
    PRGN_BEGIN;
    rows kept = half(held, (own & bit) != 0), given = half(held, (own & bit) == 0);
    int n_given = opaque(given, first, last);
    compute(0.1 * ns_per_pixel * (n_given + opaque(kept, first, last)));
    for (int at = 0, row = given.begin; at < given.n; at++, row += given.step) {
        header[2 * at] = first[row];
        header[2 * at + 1] = last[row];
    }
    int n_out = 2 * given.n * (int)sizeof(int) + n_given * PIXEL_BYTES;
    exchange(out, n_out, in, side * (side * PIXEL_BYTES + 8), other, bit, own < other);
    double n_got = 0;
    for (int at = 0, row = kept.begin; at < kept.n; at++, row += kept.step) {
        int from = got[2 * at], to = got[2 * at + 1];
        n_got += to - from;
        if (from == to) continue;
        if (first[row] == last[row] || from < first[row]) first[row] = from;
        if (to > last[row]) last[row] = to;
    }
    compute(ns_per_pixel * n_got);
    PRGN_END;
    return kept;
}

static void options(int n_words, char **words) {
    for (int at = 1; at + 1 < n_words; at += 2) {
        if (!strcmp(words[at], "--side")) side = atoi(words[at + 1]);
        else if (!strcmp(words[at], "--frames")) n_frames = atoi(words[at + 1]);
        else if (!strcmp(words[at], "--ns-per-pixel")) ns_per_pixel = atof(words[at + 1]);
        else if (!strcmp(words[at], "--exchange")) in_turns = !strcmp(words[at + 1], "turns");
        else if (!strcmp(words[at], "--split")) interleaved = !strcmp(words[at + 1], "interleaved");
    }
}

int main(int n_words, char **words) {
    int own, n_ranks;
    MPI_Init(&n_words, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &own);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    prctl(PR_SET_TIMERSLACK, 1);
    options(n_words, words);
    if (n_ranks & (n_ranks - 1)) {
        if (own == 0) fprintf(stderr, "compositing: got %d ranks, expected a power of two\n", n_ranks);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int *first = calloc((size_t)side, sizeof(int)), *last = calloc((size_t)side, sizeof(int));
    char *out = calloc((size_t)side, (size_t)side * PIXEL_BYTES + 8), *in = calloc((size_t)side, (size_t)side * PIXEL_BYTES + 8);
    /* Memory is touched before the clock starts. */
    memset(out, 1, (size_t)side * ((size_t)side * PIXEL_BYTES + 8));
    memset(in, 1, (size_t)side * ((size_t)side * PIXEL_BYTES + 8));
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    MLPERF_REGION_BEGIN("compositing");
    for (int frame = 0; frame < n_frames; frame++) {
        rows held = {0, 1, side};
        render(own, n_ranks, first, last);
        for (int bit = 1; bit < n_ranks; bit *= 2) held = stage(bit, own, held, first, last, out, in);
    }
    MLPERF_REGION_END("compositing");
    double elapsed = MPI_Wtime() - start, longest;
    MPI_Reduce(&elapsed, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (own == 0) printf("time_s %.6f\n", longest);
    MPI_Finalize();
    return 0;
}
