/* Registration of two images, as PerWiz's first program has it (figure 7): every control point is differentiated by the processes
   that hold the pixels around it, which compute and then exchange what they found.

     registration [--points N] [--seed S] [--time-ms T] [--bytes B] [--order 3,1,2,0]

   Blocks of the image lie on a grid of processes. A control point lies at the border of two blocks or the corner of four; these
   processes are its group g. All processes take the points in one order, which --order changes (default 0, 1, 2, ...).
   Computation is waited for, not done: ranks may outnumber the cores. Its length depends on point, process and seed alone.
   Rank 0 prints the seconds from a common start to the end of the last process. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "mlperf_regions.h"

#define MOST_POINTS 4096

static int n_points = 32, n_bytes = 65536, seed = 1;
static double time_ms = 20.0;
static int order[MOST_POINTS];

static uint64_t mixed(uint64_t a, uint64_t b, uint64_t c) {
    uint64_t x = a * 0x9E3779B97F4A7C15u ^ b * 0xBF58476D1CE4E5B9u ^ c * 0x94D049BB133111EBu;
    x ^= x >> 30;
    x *= 0xBF58476D1CE4E5B9u;
    x ^= x >> 27;
    x *= 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

static double uniform(uint64_t a, uint64_t b, uint64_t c) { return (double)(mixed(a, b, c) >> 11) / 9007199254740992.0; }

static void compute(double ms) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t ns = until.tv_nsec + (int64_t)(ms * 1e6);
    until.tv_sec += ns / 1000000000;
    until.tv_nsec = ns % 1000000000;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL)) {
    }
}

/* Members of a point's group, ascending; two processes at a border, four at a corner. */
static int group(int point, int width, int height, int members[4]) {
    int at_corner = width > 1 && height > 1 && uniform(point, 1, seed) < 0.25;
    int upright = height == 1 || (width > 1 && uniform(point, 2, seed) < 0.5);
    int wide = at_corner || upright, high = at_corner || !upright;
    int x = (int)(uniform(point, 3, seed) * (width - wide)), y = (int)(uniform(point, 4, seed) * (height - high));
    int n = 0;
    for (int down = 0; down <= high; down++)
        for (int right = 0; right <= wide; right++) members[n++] = (y + down) * width + x + right;
    return n;
}

static void exchange(int point, const int members[4], int n, int own, char *mine, char *theirs) {
    if (n == 2) {
        int other = members[0] == own ? members[1] : members[0];
        MPI_Sendrecv(mine, n_bytes, MPI_CHAR, other, point, theirs, n_bytes, MPI_CHAR, other, point, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
    if (own == members[0]) {
        for (int at = 1; at < n; at++) MPI_Recv(theirs, n_bytes, MPI_CHAR, members[at], point, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int at = 1; at < n; at++) MPI_Send(mine, n_bytes, MPI_CHAR, members[at], point, MPI_COMM_WORLD);
    } else {
        MPI_Send(mine, n_bytes, MPI_CHAR, members[0], point, MPI_COMM_WORLD);
        MPI_Recv(theirs, n_bytes, MPI_CHAR, members[0], point, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void options(int n_words, char **words) {
    char *given = NULL;
    for (int at = 1; at + 1 < n_words; at += 2) {
        if (!strcmp(words[at], "--points")) n_points = atoi(words[at + 1]);
        else if (!strcmp(words[at], "--seed")) seed = atoi(words[at + 1]);
        else if (!strcmp(words[at], "--time-ms")) time_ms = atof(words[at + 1]);
        else if (!strcmp(words[at], "--bytes")) n_bytes = atoi(words[at + 1]);
        else if (!strcmp(words[at], "--order")) given = words[at + 1];
    }
    if (n_points > MOST_POINTS) n_points = MOST_POINTS;
    for (int at = 0; at < n_points; at++) order[at] = at;
    for (int at = 0; given && *given && at < n_points; at++) {
        order[at] = (int)strtol(given, &given, 10);
        if (*given == ',') given++;
    }
}

int main(int n_words, char **words) {
    int own, n_ranks, width = 1;
    MPI_Init(&n_words, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &own);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    prctl(PR_SET_TIMERSLACK, 1);
    options(n_words, words);
    while ((width + 1) * (width + 1) <= n_ranks) width++;
    while (n_ranks % width) width--;
    char *mine = calloc((size_t)n_bytes, 1), *theirs = calloc((size_t)n_bytes, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    PRGN_BEGIN;
    for (int at = 0; at < n_points; at++) {
        int members[4], point = order[at], n = group(point, width, n_ranks / width, members), is_member = 0;
        for (int each = 0; each < n; each++) is_member |= members[each] == own;
        if (!is_member) continue;
        compute(time_ms * (0.25 + 1.5 * uniform(point, 16 + (uint64_t)own, seed)));
        exchange(point, members, n, own, mine, theirs);
    }
    PRGN_END;
    double elapsed = MPI_Wtime() - start, longest;
    MPI_Reduce(&elapsed, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (own == 0) printf("time_s %.6f\n", longest);
    MPI_Finalize();
    return 0;
}
