/* A Fortran binding of MPI as some libraries have it: every entry point calls the C function that programs can replace. */
#include <mpi.h>
#include <stddef.h>

#define STATUS(status) ((status) == MPI_F_STATUS_IGNORE ? MPI_STATUS_IGNORE : &own)
#define COMM PMPI_Comm_f2c(*comm)
#define TYPE PMPI_Type_f2c(*type)
typedef MPI_Fint *at;

void mpi_init_(at error) { *error = MPI_Init(NULL, NULL); }
void mpi_finalize_(at error) { *error = MPI_Finalize(); }
void mpi_send_(void *data, at count, at type, at to, at tag, at comm, at error) {
    *error = MPI_Send(data, *count, TYPE, *to, *tag, COMM);
}
void mpi_recv_(void *data, at count, at type, at from, at tag, at comm, at status, at error) {
    MPI_Status own;
    *error = MPI_Recv(data, *count, TYPE, *from, *tag, COMM, STATUS(status));
    if (status != MPI_F_STATUS_IGNORE) PMPI_Status_c2f(&own, status);
}
void mpi_recv(void *data, at count, at type, at from, at tag, at comm, at status, at error) {
    mpi_recv_(data, count, type, from, tag, comm, status, error);
}
void mpi_irecv_(void *data, at count, at type, at from, at tag, at comm, at request, at error) {
    MPI_Request made;
    *error = MPI_Irecv(data, *count, TYPE, *from, *tag, COMM, &made);
    *request = PMPI_Request_c2f(made);
}
void mpi_wait_(at request, at status, at error) {
    MPI_Status own;
    MPI_Request asked = PMPI_Request_f2c(*request);
    *error = MPI_Wait(&asked, STATUS(status));
    *request = PMPI_Request_c2f(asked);
    if (status != MPI_F_STATUS_IGNORE) PMPI_Status_c2f(&own, status);
}
void mpi_allreduce_(void *out, void *in, at count, at type, at op, at comm, at error) {
    *error = MPI_Allreduce(out, in, *count, TYPE, PMPI_Op_f2c(*op), COMM);
}
void mpi_comm_dup_(at comm, at made, at error) {
    MPI_Comm found;
    *error = MPI_Comm_dup(COMM, &found);
    *made = PMPI_Comm_c2f(found);
}
