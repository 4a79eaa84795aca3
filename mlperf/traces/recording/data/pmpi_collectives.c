/* Operations of all ranks of a communicator; bytes are what the calling rank contributes. */
#include "record.h"

#define RECORDS (mr_on && mr_inside == 0)

static int size_of(MPI_Comm comm) {
    mr_comm *found = mr_find_comm(comm);
    return found ? found->size : 1;
}

static int64_t summed(const int *counts, MPI_Comm comm) {
    int64_t total = 0;
    for (int rank = 0, size = size_of(comm); rank < size; rank++) total += counts[rank];
    return total;
}

static void counted(MPI_Comm comm) {
    mr_comm *found;
    if (!mr_size || mr_inside) return;
    mr_lock();
    /* Counted whether recorded or not: the number tells which calls of different ranks are one operation. */
    if ((found = mr_find_comm(comm))) found->n_collectives++;
    mr_unlock();
}

/* SIZE is looked at only where a call is recorded: counts may be meaningless on some ranks otherwise. */
#define COLLECTIVE(NAME, PARAMETERS, ARGUMENTS, SIZE, ROOT, POSTED)                                            \
    int MPI_##NAME PARAMETERS {                                                                                \
        counted(comm);                                                                                         \
        if (!RECORDS) return PMPI_##NAME ARGUMENTS;                                                            \
        mr_inside++;                                                                                           \
        int64_t start = mr_now();                                                                              \
        int result = PMPI_##NAME ARGUMENTS;                                                                    \
        int64_t end = mr_now();                                                                                \
        mr_inside--;                                                                                           \
        mr_collective("MPI_" #NAME, start, end, SIZE, ROOT, comm, POSTED, MR_SITE);                            \
        return result;                                                                                         \
    }

/* The blocking operation and the one that posts. */
#define BOTH(NAME, POSTING, PARAMETERS, ARGUMENTS, SIZE, ROOT)                                                 \
    COLLECTIVE(NAME, (UNPACK PARAMETERS), (UNPACK ARGUMENTS), SIZE, ROOT, 0)                                   \
    COLLECTIVE(POSTING, (UNPACK PARAMETERS, MPI_Request *request), (UNPACK ARGUMENTS, request), SIZE, ROOT, 1)
#define UNPACK(...) __VA_ARGS__

#define IS_IN_PLACE (out == MPI_IN_PLACE)

BOTH(Barrier, Ibarrier, (MPI_Comm comm), (comm), 0, -1)
BOTH(Bcast, Ibcast, (void *data, int count, MPI_Datatype type, int root, MPI_Comm comm), (data, count, type, root, comm),
     mr_bytes(count, type), root)
BOTH(Reduce, Ireduce, (const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm),
     (out, in, count, type, op, root, comm), mr_bytes(count, type), root)
BOTH(Allreduce, Iallreduce, (const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (out, in, count, type, op, comm), mr_bytes(count, type), -1)
BOTH(Scan, Iscan, (const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (out, in, count, type, op, comm), mr_bytes(count, type), -1)
BOTH(Exscan, Iexscan, (const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (out, in, count, type, op, comm), mr_bytes(count, type), -1)
BOTH(Reduce_scatter_block, Ireduce_scatter_block,
     (const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm), (out, in, count, type, op, comm),
     mr_bytes((int64_t)count * size_of(comm), type), -1)
BOTH(Reduce_scatter, Ireduce_scatter,
     (const void *out, void *in, const int counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm), (out, in, counts, type, op, comm),
     mr_bytes(summed(counts, comm), type), -1)
BOTH(Gather, Igather,
     (const void *out, int n_out, MPI_Datatype out_type, void *in, int n_in, MPI_Datatype in_type, int root, MPI_Comm comm),
     (out, n_out, out_type, in, n_in, in_type, root, comm), IS_IN_PLACE ? 0 : mr_bytes(n_out, out_type), root)
BOTH(Gatherv, Igatherv,
     (const void *out, int n_out, MPI_Datatype out_type, void *in, const int n_in[], const int places[], MPI_Datatype in_type,
      int root, MPI_Comm comm),
     (out, n_out, out_type, in, n_in, places, in_type, root, comm), IS_IN_PLACE ? 0 : mr_bytes(n_out, out_type), root)
BOTH(Scatter, Iscatter,
     (const void *out, int n_out, MPI_Datatype out_type, void *in, int n_in, MPI_Datatype in_type, int root, MPI_Comm comm),
     (out, n_out, out_type, in, n_in, in_type, root, comm), in == MPI_IN_PLACE ? 0 : mr_bytes(n_in, in_type), root)
BOTH(Scatterv, Iscatterv,
     (const void *out, const int n_out[], const int places[], MPI_Datatype out_type, void *in, int n_in, MPI_Datatype in_type,
      int root, MPI_Comm comm),
     (out, n_out, places, out_type, in, n_in, in_type, root, comm), in == MPI_IN_PLACE ? 0 : mr_bytes(n_in, in_type), root)
BOTH(Allgather, Iallgather,
     (const void *out, int n_out, MPI_Datatype out_type, void *in, int n_in, MPI_Datatype in_type, MPI_Comm comm),
     (out, n_out, out_type, in, n_in, in_type, comm), IS_IN_PLACE ? mr_bytes(n_in, in_type) : mr_bytes(n_out, out_type), -1)
BOTH(Allgatherv, Iallgatherv,
     (const void *out, int n_out, MPI_Datatype out_type, void *in, const int n_in[], const int places[], MPI_Datatype in_type,
      MPI_Comm comm),
     (out, n_out, out_type, in, n_in, places, in_type, comm), IS_IN_PLACE ? 0 : mr_bytes(n_out, out_type), -1)
BOTH(Alltoall, Ialltoall,
     (const void *out, int n_out, MPI_Datatype out_type, void *in, int n_in, MPI_Datatype in_type, MPI_Comm comm),
     (out, n_out, out_type, in, n_in, in_type, comm),
     IS_IN_PLACE ? mr_bytes((int64_t)n_in * size_of(comm), in_type) : mr_bytes((int64_t)n_out * size_of(comm), out_type), -1)
BOTH(Alltoallv, Ialltoallv,
     (const void *out, const int n_out[], const int out_places[], MPI_Datatype out_type, void *in, const int n_in[],
      const int in_places[], MPI_Datatype in_type, MPI_Comm comm),
     (out, n_out, out_places, out_type, in, n_in, in_places, in_type, comm),
     IS_IN_PLACE ? mr_bytes(summed(n_in, comm), in_type) : mr_bytes(summed(n_out, comm), out_type), -1)
