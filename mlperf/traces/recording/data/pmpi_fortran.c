/* The Fortran entry points, for MPIs whose Fortran library does not call the C functions that programs can replace.

   Each passes its arguments on untouched to the Fortran library, which alone knows its MPI_IN_PLACE, MPI_BOTTOM and logicals, and
   records around it. Where that library calls our C functions inside, those see that they are inside a call and record nothing. */
#define _GNU_SOURCE
#include "record.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define STATUS_INTS ((int)(sizeof(MPI_Status) / sizeof(MPI_Fint)) + 8)
#define COMM(handle) PMPI_Comm_f2c(*(handle))
#define BYTES(count, type) mr_bytes(*(count), PMPI_Type_f2c(*(type)))

typedef MPI_Fint *integer;
void mr_begin(void);
void mr_finish(void);

static void *next(const char *with, const char *without) {
    void *found = dlsym(RTLD_NEXT, with);
    if (!found) found = dlsym(RTLD_NEXT, without);
    if (found) return found;
    fprintf(stderr, "mlperf recorder: the program calls %s, and no Fortran library of MPI is loaded\n", with);
    abort();
}

static MPI_Status translated(integer status) {
    MPI_Status found;
    PMPI_Status_f2c(status, &found);
    return found;
}

/* The entry point NAME_ and, for compilers that append nothing, NAME; inside, real() is the library's own. */
#define ENTRY(NAME, PARAMETERS, ARGUMENTS, ...)                                           \
    static void entry_##NAME(void (*real) PARAMETERS, uint64_t site, UNPACK PARAMETERS) { \
        (void)site;                                                                       \
        __VA_ARGS__                                                                       \
    }                                                                                     \
    void NAME##_ PARAMETERS {                                                             \
        static void(*real) PARAMETERS;                                                    \
        if (!real) *(void **)&real = next(#NAME "_", #NAME);                              \
        entry_##NAME(real, MR_SITE, UNPACK ARGUMENTS);                                    \
    }                                                                                     \
    void NAME PARAMETERS {                                                                \
        static void(*real) PARAMETERS;                                                    \
        if (!real) *(void **)&real = next(#NAME, #NAME "_");                              \
        entry_##NAME(real, MR_SITE, UNPACK ARGUMENTS);                                    \
    }
#define UNPACK(...) __VA_ARGS__
#undef TIMED
#define TIMED(call)           \
    mr_inside++;              \
    int64_t start = mr_now(); \
    call;                     \
    int64_t end = mr_now();   \
    mr_inside--;

ENTRY(mpi_init, (integer error), (error), {
    mr_inside++;
    real(error);
    mr_inside--;
    mr_begin();
})
ENTRY(mpi_init_thread, (integer required, integer provided, integer error), (required, provided, error), {
    mr_inside++;
    real(required, provided, error);
    mr_inside--;
    mr_begin();
})
ENTRY(mpi_finalize, (integer error), (error), {
    mr_finish();
    real(error);
})

#define SENDS(NAME, SHOWN)                                                                                                      \
    ENTRY(NAME, (void *data, integer count, integer type, integer to, integer tag, integer comm, integer error),                \
          (data, count, type, to, tag, comm, error), {                                                                          \
              if (!RECORDS || *to == MPI_PROC_NULL) {                                                                           \
                  real(data, count, type, to, tag, comm, error);                                                                \
                  return;                                                                                                       \
              }                                                                                                                 \
              TIMED(real(data, count, type, to, tag, comm, error))                                                              \
              mr_message(MR_SEND, SHOWN, start, end, BYTES(count, type), *to, *tag, COMM(comm), 0, 0, site);                    \
          })
SENDS(mpi_send, "MPI_Send")
SENDS(mpi_ssend, "MPI_Ssend")
SENDS(mpi_bsend, "MPI_Bsend")
SENDS(mpi_rsend, "MPI_Rsend")

ENTRY(mpi_recv, (void *data, integer count, integer type, integer from, integer tag, integer comm, integer status, integer error),
      (data, count, type, from, tag, comm, status, error), {
          MPI_Fint own[STATUS_INTS];
          integer used = status == MPI_F_STATUS_IGNORE ? own : status;
          if (!RECORDS || *from == MPI_PROC_NULL) {
              real(data, count, type, from, tag, comm, status, error);
              return;
          }
          TIMED(real(data, count, type, from, tag, comm, used, error))
          MPI_Status found = translated(used);
          mr_received("MPI_Recv", start, end, &found, *from, *tag, COMM(comm), 0, 0, site);
      })

ENTRY(mpi_sendrecv,
      (void *out, integer n_out, integer out_type, integer to, integer send_tag, void *in, integer n_in, integer in_type, integer from,
       integer receive_tag, integer comm, integer status, integer error),
      (out, n_out, out_type, to, send_tag, in, n_in, in_type, from, receive_tag, comm, status, error), {
          MPI_Fint own[STATUS_INTS];
          integer used = status == MPI_F_STATUS_IGNORE ? own : status;
          if (!RECORDS) {
              real(out, n_out, out_type, to, send_tag, in, n_in, in_type, from, receive_tag, comm, status, error);
              return;
          }
          TIMED(real(out, n_out, out_type, to, send_tag, in, n_in, in_type, from, receive_tag, comm, used, error))
          MPI_Status found = translated(used);
          int flags = *to != MPI_PROC_NULL && *from != MPI_PROC_NULL ? MR_PAIRED : 0;
          int64_t number = mr_number();
          if (*to != MPI_PROC_NULL)
              mr_message(MR_SEND, "MPI_Sendrecv", start, end, BYTES(n_out, out_type), *to, *send_tag, COMM(comm), flags, number, site);
          if (*from != MPI_PROC_NULL)
              mr_received("MPI_Sendrecv", start, end, &found, *from, *receive_tag, COMM(comm), flags, number, site);
      })

#define POSTS(NAME, SHOWN, KIND)                                                                                                \
    ENTRY(NAME, (void *data, integer count, integer type, integer peer, integer tag, integer comm, integer request, integer error), \
          (data, count, type, peer, tag, comm, request, error), {                                                               \
              if (!RECORDS || *peer == MPI_PROC_NULL) {                                                                         \
                  real(data, count, type, peer, tag, comm, request, error);                                                     \
                  return;                                                                                                       \
              }                                                                                                                 \
              TIMED(real(data, count, type, peer, tag, comm, request, error))                                                   \
              mr_record *record = mr_message(KIND, SHOWN, start, end, BYTES(count, type), *peer, *tag, COMM(comm), 0, 0, site); \
              mr_post(PMPI_Request_f2c(*request), record, KIND == MR_IRECV, 0);                                                 \
          })
POSTS(mpi_isend, "MPI_Isend", MR_ISEND)
POSTS(mpi_issend, "MPI_Issend", MR_ISEND)
POSTS(mpi_irecv, "MPI_Irecv", MR_IRECV)

ENTRY(mpi_wait, (integer request, integer status, integer error), (request, status, error), {
    MPI_Fint own[STATUS_INTS];
    integer used = status == MPI_F_STATUS_IGNORE ? own : status;
    MPI_Request asked = PMPI_Request_f2c(*request);
    TIMED(real(request, used, error))
    MPI_Status found = translated(used);
    int64_t number = mr_number();
    mr_complete(asked, &found, RECORDS ? number : 0);
    if (RECORDS && asked != MPI_REQUEST_NULL) mr_wait("MPI_Wait", start, end, 1, number, site);
})

ENTRY(mpi_waitall, (integer count, integer requests, integer statuses, integer error), (count, requests, statuses, error), {
    int n = *count > 0 ? *count : 0;
    int width = (int)(sizeof(MPI_Status) / sizeof(MPI_Fint));
    MPI_Request *asked = malloc(sizeof(MPI_Request) * (size_t)(n + 1));
    integer own = malloc(sizeof(MPI_Fint) * (size_t)(n * width + STATUS_INTS));
    integer used = statuses == MPI_F_STATUSES_IGNORE ? own : statuses;
    int n_live = 0;
    for (int at = 0; at < n; at++) {
        asked[at] = PMPI_Request_f2c(requests[at]);
        n_live += asked[at] != MPI_REQUEST_NULL;
    }
    TIMED(real(count, requests, used, error))
    int64_t number = mr_number();
    for (int at = 0; at < n; at++) {
        MPI_Status found = translated(used + at * width);
        mr_complete(asked[at], &found, RECORDS ? number : 0);
    }
    if (RECORDS && n_live) mr_wait("MPI_Waitall", start, end, n_live, number, site);
    free(asked);
    free(own);
})

#define COLLECTIVE(NAME, SHOWN, PARAMETERS, ARGUMENTS, SIZE, ROOT)                                   \
    ENTRY(NAME, PARAMETERS, ARGUMENTS, {                                                             \
        mr_comm *group = mr_size && mr_inside == 0 ? mr_find_comm(COMM(comm)) : NULL;                \
        if (group) group->n_collectives++;                                                           \
        if (!RECORDS) {                                                                              \
            real ARGUMENTS;                                                                          \
            return;                                                                                  \
        }                                                                                            \
        TIMED(real ARGUMENTS)                                                                        \
        mr_collective(SHOWN, start, end, SIZE, ROOT, COMM(comm), 0, site);                           \
    })
COLLECTIVE(mpi_barrier, "MPI_Barrier", (integer comm, integer error), (comm, error), 0, -1)
COLLECTIVE(mpi_bcast, "MPI_Bcast", (void *data, integer count, integer type, integer root, integer comm, integer error),
           (data, count, type, root, comm, error), BYTES(count, type), *root)
COLLECTIVE(mpi_reduce, "MPI_Reduce",
           (void *out, void *in, integer count, integer type, integer op, integer root, integer comm, integer error),
           (out, in, count, type, op, root, comm, error), BYTES(count, type), *root)
COLLECTIVE(mpi_allreduce, "MPI_Allreduce", (void *out, void *in, integer count, integer type, integer op, integer comm, integer error),
           (out, in, count, type, op, comm, error), BYTES(count, type), -1)

#define SPREADS(NAME, SHOWN)                                                                                                      \
    COLLECTIVE(NAME, SHOWN,                                                                                                       \
               (void *out, integer n_out, integer out_type, void *in, integer n_in, integer in_type, integer comm, integer error), \
               (out, n_out, out_type, in, n_in, in_type, comm, error), BYTES(n_out, out_type), -1)
SPREADS(mpi_allgather, "MPI_Allgather")
SPREADS(mpi_alltoall, "MPI_Alltoall")

#define MAKES_COMM(NAME, PARAMETERS, ARGUMENTS)                              \
    ENTRY(NAME, PARAMETERS, ARGUMENTS, {                                     \
        mr_inside++;                                                         \
        real ARGUMENTS;                                                      \
        mr_inside--;                                                         \
        if (mr_size && mr_inside == 0) mr_new_comm(COMM(made));              \
    })
MAKES_COMM(mpi_comm_dup, (integer comm, integer made, integer error), (comm, made, error))
MAKES_COMM(mpi_comm_split, (integer comm, integer color, integer key, integer made, integer error), (comm, color, key, made, error))
