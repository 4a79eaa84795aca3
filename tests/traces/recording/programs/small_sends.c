/* Small messages that are sent at once: libraries may give all their sends one handle. */
#include <mpi.h>

#define N 4

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int turn = 0; turn < 2; turn++) {
        double in[N], out[N] = {1.0, 2.0, 3.0, 4.0};
        MPI_Request requests[2 * N];
        for (int at = 0; at < N; at++) MPI_Irecv(in + at, 1, MPI_DOUBLE, (rank + size - 1) % size, at, MPI_COMM_WORLD, requests + at);
        for (int at = 0; at < N; at++) MPI_Isend(out + at, 1, MPI_DOUBLE, (rank + 1) % size, at, MPI_COMM_WORLD, requests + N + at);
        MPI_Waitall(N, requests, MPI_STATUSES_IGNORE);
        for (int at = 0; at < N; at++) MPI_Wait(requests + N + at, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
