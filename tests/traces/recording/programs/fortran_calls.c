/* What a Fortran compiler makes of a program: calls of entry points with and without underscore, all arguments by address. */
#include <mpi.h>

void mpi_init_(MPI_Fint *);
void mpi_finalize_(MPI_Fint *);
void mpi_send_(void *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *);
void mpi_recv(void *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *);
void mpi_irecv_(void *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *);
void mpi_wait_(MPI_Fint *, MPI_Fint *, MPI_Fint *);
void mpi_allreduce_(void *, void *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *);
void mpi_comm_dup_(MPI_Fint *, MPI_Fint *, MPI_Fint *);
void mlperf_region_begin_(const char *, long);
void mlperf_region_end_(const char *, long);
void prgn_begin(void);
void prgn_end_(void);

int main(void) {
    MPI_Fint error, count = 3, tag = 5, peer, copy, request, world = MPI_Comm_c2f(MPI_COMM_WORLD), type = MPI_Type_c2f(MPI_INT);
    MPI_Fint sum = MPI_Op_c2f(MPI_SUM);
    int rank, data[3] = {1, 2, 3}, total[3];
    mpi_init_(&error);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    peer = 1 - rank;
    mpi_comm_dup_(&world, &copy, &error);
    mlperf_region_begin_("solve   ", 8);
    prgn_begin();
    if (rank == 0) {
        mpi_send_(data, &count, &type, &peer, &tag, &copy, &error);
        mpi_irecv_(total, &count, &type, &peer, &tag, &world, &request, &error);
        mpi_wait_(&request, MPI_F_STATUS_IGNORE, &error);
    } else {
        mpi_recv(total, &count, &type, &peer, &tag, &copy, MPI_F_STATUS_IGNORE, &error);
        mpi_send_(data, &count, &type, &peer, &tag, &world, &error);
    }
    prgn_end_();
    mpi_allreduce_(data, total, &count, &type, &sum, &copy, &error);
    mlperf_region_end_("solve", 5);
    mpi_finalize_(&error);
    return total[0] == 2 ? 0 : 9;
}
