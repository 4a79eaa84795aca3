/* Four ranks say to each other what the tests know. "crash": rank 1 aborts in the middle of the run; "plain": no regions are selected. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mlperf_regions.h"

static char out[300000], in[300000];

static void requests(int rank, int size) {
    MPI_Request all[3];
    MPI_Status status;
    int next = (rank + 1) % size, before = (rank + size - 1) % size, index, done = 0;
    MPI_Irecv(in, 100000, MPI_CHAR, before, 11, MPI_COMM_WORLD, &all[0]);
    MPI_Isend(out, 500, MPI_CHAR, next, 11, MPI_COMM_WORLD, &all[1]);
    all[2] = MPI_REQUEST_NULL;
    MPI_Waitall(3, all, MPI_STATUSES_IGNORE);
    MPI_Irecv(in, 1000, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &all[0]);
    MPI_Isend(out, 25, MPI_INT, next, 12, MPI_COMM_WORLD, &all[1]);
    MPI_Waitany(2, all, &index, MPI_STATUS_IGNORE);
    MPI_Wait(&all[1 - index], MPI_STATUS_IGNORE);
    MPI_Recv_init(in, 700, MPI_CHAR, before, 13, MPI_COMM_WORLD, &all[0]);
    MPI_Send_init(out, 70, MPI_CHAR, next, 13, MPI_COMM_WORLD, &all[1]);
    for (int turn = 0; turn < 2; turn++) {
        MPI_Startall(2, all);
        MPI_Waitall(2, all, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&all[0]);
    MPI_Request_free(&all[1]);
    MPI_Irecv(in, 10, MPI_CHAR, before, 14, MPI_COMM_WORLD, &all[0]);
    MPI_Send(out, 4, MPI_CHAR, next, 14, MPI_COMM_WORLD);
    while (!done) MPI_Test(&all[0], &done, &status);
}

static void probes(int rank) {
    MPI_Message message;
    MPI_Status status;
    if (rank == 2) MPI_Send(out, 40, MPI_CHAR, 3, 21, MPI_COMM_WORLD);
    if (rank == 3) {
        MPI_Probe(MPI_ANY_SOURCE, 21, MPI_COMM_WORLD, &status);
        MPI_Recv(in, 40, MPI_CHAR, status.MPI_SOURCE, 21, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Mprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(in, 60, MPI_CHAR, &message, MPI_STATUS_IGNORE);
    }
    if (rank == 0) MPI_Ssend(out, 60, MPI_CHAR, 3, 22, MPI_COMM_WORLD);
}

static void groups(int rank, int size) {
    MPI_Comm half, copy;
    int own, members;
    double one = rank, sum;
    /* Keys turn the order round: rank 0 of a half is its last in the world. */
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Comm_dup(half, &copy);
    MPI_Comm_rank(copy, &own);
    MPI_Comm_size(copy, &members);
    MPI_Sendrecv(out, 200, MPI_CHAR, (own + 1) % members, 31, in, 300, MPI_CHAR, (own + members - 1) % members, 31, copy, MPI_STATUS_IGNORE);
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, half);
    MPI_Bcast(&one, 1, MPI_DOUBLE, 0, copy);
    MPI_Gather(&rank, 1, MPI_INT, in, 1, MPI_INT, size - 1, MPI_COMM_WORLD);
    MPI_Sendrecv(out, 5, MPI_CHAR, rank ? MPI_PROC_NULL : 1, 32, in, 5, MPI_CHAR, rank == 1 ? 0 : MPI_PROC_NULL, 32, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&half);
}

int main(int n_words, char **words) {
    int rank, size;
    MPI_Init(&n_words, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int turn = 0; turn < 5; turn++) {
        MLPERF_REGION_BEGIN("loop");
        MPI_Barrier(MPI_COMM_WORLD);
        PRGN_BEGIN;
        requests(rank, size);
        PRGN_END;
        MLPERF_REGION_END("loop");
        if (turn == 2 && n_words > 1 && !strcmp(words[1], "crash") && rank == 1) abort();
    }
    MPI_Pcontrol(0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pcontrol(1);
    probes(rank);
    groups(rank, size);
    MPI_Finalize();
    return n_words > 1 && !strcmp(words[1], "seven") ? 7 : 0;
}
