/* Readings of clocks, by which a reader bounds how far those of two ranks lie apart. */
#include "record.h"

#include <time.h>

#define READINGS 8
#define TRIPS 12
#define PATIENCE_NS 100000000
enum { BRACKET = 0, TRIP = 1 };

static void keep(int what, int when, int peer, int64_t before, int64_t after, int64_t other) {
    mr_record *record = mr_append();
    if (!record) return;
    record->start_ns = before;
    record->end_ns = after;
    record->tag = what;
    record->count = when;
    record->peer = peer;
    record->id = other;
    record->kind = MR_CLOCK;
}

static void bracket(int when) {
    int64_t best[3] = {0, INT64_MAX, 0};
    for (int reading = 0; reading < READINGS; reading++) {
        struct timespec now;
        int64_t before = mr_now();
        clock_gettime(CLOCK_REALTIME, &now);
        int64_t after = mr_now();
        if (after - before < best[1] - best[0]) {
            best[0] = before;
            best[1] = after;
            best[2] = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
        }
    }
    keep(BRACKET, when, -1, best[0], best[1], best[2]);
}

/* Rank 0 answers everybody in turn with its own time, which lies between the asker's readings. */
static void trips(int when, MPI_Comm own) {
    int64_t ask = 0, answer = 0;
    if (mr_rank == 0) {
        for (int rank = 1; rank < mr_size; rank++) {
            do {
                PMPI_Recv(&ask, 1, MPI_INT64_T, rank, 0, own, MPI_STATUS_IGNORE);
                answer = mr_now();
                PMPI_Send(&answer, 1, MPI_INT64_T, rank, 0, own);
            } while (ask);
        }
        return;
    }
    int64_t best[3] = {0, INT64_MAX, 0}, begun = 0;
    for (int trip = 0; trip < TRIPS; trip++) {
        int64_t before = mr_now();
        /* The first trip waits for its turn; patience is counted from there. */
        ask = trip + 1 < TRIPS && (trip < 2 || before - begun < PATIENCE_NS);
        PMPI_Send(&ask, 1, MPI_INT64_T, 0, 0, own);
        PMPI_Recv(&answer, 1, MPI_INT64_T, 0, 0, own, MPI_STATUS_IGNORE);
        int64_t after = mr_now();
        if (trip == 0) begun = after;
        if (after - before < best[1] - best[0]) {
            best[0] = before;
            best[1] = after;
            best[2] = answer;
        }
        if (!ask) break;
    }
    keep(TRIP, when, 0, best[0], best[1], best[2]);
}

void mr_read_clocks(int when) {
    static MPI_Comm own = MPI_COMM_NULL;
    mr_inside++;
    bracket(when);
    if (own == MPI_COMM_NULL) PMPI_Comm_dup(MPI_COMM_WORLD, &own);
    trips(when, own);
    if (when) PMPI_Comm_free(&own);
    mr_inside--;
}
