/* Waits that rest: blocking calls of MPI that look every 50 microseconds whether they are done, and sleep in between.

   Most MPIs wait by looking all the time, which takes a whole core a rank. Where ranks outnumber cores, ranks that wait then hold up
   those that compute. Linked before MPI, this library answers both the program's calls and those that a recorder passes on:

     mpicc -O2 -shared -fPIC -o libresting.so resting_waits.c
     mpicc -O2 -o registration registration.c -L. -lresting -Wl,-rpath,'$ORIGIN'                                              */
#include <mpi.h>
#include <time.h>

#define PAUSE_NS 50000
#define TRIES 3

int PMPI_Wait(MPI_Request *request, MPI_Status *status) {
    struct timespec pause = {0, PAUSE_NS};
    int done = 0, result = MPI_SUCCESS;
    for (int tries = 0; !done; tries++) {
        result = PMPI_Test(request, &done, status);
        if (result != MPI_SUCCESS) return result;
        if (!done && tries >= TRIES) nanosleep(&pause, NULL);
    }
    return result;
}

int PMPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
    struct timespec pause = {0, PAUSE_NS};
    int done = 0, result = MPI_SUCCESS;
    for (int tries = 0; !done; tries++) {
        result = PMPI_Testall(count, requests, &done, statuses);
        if (result != MPI_SUCCESS) return result;
        if (!done && tries >= TRIES) nanosleep(&pause, NULL);
    }
    return result;
}

static int finished(int result, MPI_Request *request, MPI_Status *status) {
    return result == MPI_SUCCESS ? PMPI_Wait(request, status) : result;
}

int PMPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    MPI_Request request;
    return finished(PMPI_Isend(data, count, type, to, tag, comm, &request), &request, MPI_STATUS_IGNORE);
}

int PMPI_Recv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status) {
    MPI_Request request;
    return finished(PMPI_Irecv(data, count, type, from, tag, comm, &request), &request, status);
}

int PMPI_Sendrecv(const void *out, int n_out, MPI_Datatype out_type, int to, int send_tag, void *in, int n_in, MPI_Datatype in_type,
                  int from, int receive_tag, MPI_Comm comm, MPI_Status *status) {
    MPI_Request requests[2];
    int result = PMPI_Irecv(in, n_in, in_type, from, receive_tag, comm, &requests[0]);
    if (result == MPI_SUCCESS) result = PMPI_Isend(out, n_out, out_type, to, send_tag, comm, &requests[1]);
    if (result == MPI_SUCCESS) result = PMPI_Wait(&requests[0], status);
    return result == MPI_SUCCESS ? PMPI_Wait(&requests[1], MPI_STATUS_IGNORE) : result;
}

int PMPI_Barrier(MPI_Comm comm) {
    MPI_Request request;
    return finished(PMPI_Ibarrier(comm, &request), &request, MPI_STATUS_IGNORE);
}

int PMPI_Reduce(const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
    MPI_Request request;
    return finished(PMPI_Ireduce(out, in, count, type, op, root, comm, &request), &request, MPI_STATUS_IGNORE);
}

/* What a program calls where no recorder stands before it. */
int MPI_Wait(MPI_Request *request, MPI_Status *status) { return PMPI_Wait(request, status); }
int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) { return PMPI_Waitall(count, requests, statuses); }
int MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    return PMPI_Send(data, count, type, to, tag, comm);
}
int MPI_Recv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status) {
    return PMPI_Recv(data, count, type, from, tag, comm, status);
}
int MPI_Sendrecv(const void *out, int n_out, MPI_Datatype out_type, int to, int send_tag, void *in, int n_in, MPI_Datatype in_type,
                 int from, int receive_tag, MPI_Comm comm, MPI_Status *status) {
    return PMPI_Sendrecv(out, n_out, out_type, to, send_tag, in, n_in, in_type, from, receive_tag, comm, status);
}
int MPI_Barrier(MPI_Comm comm) { return PMPI_Barrier(comm); }
int MPI_Reduce(const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
    return PMPI_Reduce(out, in, count, type, op, root, comm);
}
