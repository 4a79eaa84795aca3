/* What every part of the recorder shares: one file a rank, records of 64 bytes, written where they stay if the program dies. */
#ifndef MLPERF_RECORD_H
#define MLPERF_RECORD_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#define MR_VERSION 1
#define MR_SITE ((uint64_t)(uintptr_t)__builtin_return_address(0))

/* Whether a call of the program is recorded; calls that MPI makes inside are not. */
#define RECORDS (mr_on && mr_inside == 0)
#define TIMED(call)                  \
    mr_inside++;                     \
    int64_t start = mr_now();        \
    int result = call;               \
    int64_t end = mr_now();          \
    mr_inside--

/* Events have the numbers of mlperf.traces.events.Kind; from 100 on, what events refer to. */
enum {
    MR_SEND = 1, MR_RECV = 2, MR_ISEND = 3, MR_IRECV = 4, MR_WAIT = 5, MR_COLL = 6, MR_REGION = 8,
    MR_STRING = 100, MR_SITE_TEXT = 101, MR_COMM = 102, MR_CLOCK = 103, MR_PROFILE = 104, MR_COUNT = 105, MR_END = 106
};

enum { MR_WILDCARD = 1, MR_OPEN = 2, MR_PAIRED = 4, MR_POSTED = 8, MR_CANCELLED = 16, MR_READY_TEXT = 32 };

typedef struct {
    int64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
    uint8_t kind, pad;
    uint16_t flags;
    int32_t peer, tag, comm; /* rank of the world; tag; number of the communicator on this rank */
    int64_t size, id;        /* bytes; number of the call, of the wait that completes, of the operation on its communicator */
    uint64_t site;           /* return address of the call */
    int32_t name, count;     /* number of a string; requests of a wait, depth of a region, length of a text in bytes */
} mr_record;

typedef struct {
    int32_t id, size, inter;
    int64_t n_collectives;
    int *world; /* rank of the world by rank of the communicator (of the other group of an intercommunicator) */
} mr_comm;

extern int mr_on;                /* whether calls are recorded now */
extern int mr_profile;           /* whether calls are only counted */
extern __thread int mr_inside;   /* depth of wrapped calls: what MPI calls itself is no event */
extern int mr_rank, mr_size;

int64_t mr_now(void);
void mr_lock(void);
void mr_unlock(void);

/* file.c */
int mr_open(void);
void mr_close(void);
mr_record *mr_append(void); /* a zeroed record, under the lock; NULL when the disk is full */
void mr_text(int kind, int flags, int32_t number, uint64_t site, const char *text, int length);
int32_t mr_string(const char *text);
void mr_know_site(uint64_t site);

/* communicators.c */
mr_comm *mr_find_comm(MPI_Comm comm);
int mr_world_rank(mr_comm *comm, int rank);
void mr_new_comm(MPI_Comm comm);
void mr_forget_comm(MPI_Comm comm);
void mr_no_comms(void);

/* events.c */
extern int64_t mr_own_ns;        /* what the recorder itself took, by every 64th event */
int64_t mr_number(void);
int64_t mr_bytes(int64_t count, MPI_Datatype type);
void mr_probed(const char *name, int64_t start, MPI_Status *status, int asked, int asked_tag, MPI_Comm comm, uint64_t site);
mr_record *mr_message(int kind, const char *name, int64_t start, int64_t end, int64_t size, int peer, int tag, MPI_Comm comm,
                      int flags, int64_t id, uint64_t site);
mr_record *mr_received(const char *name, int64_t start, int64_t end, MPI_Status *status, int asked, int asked_tag, MPI_Comm comm,
                       int flags, int64_t id, uint64_t site);
void mr_collective(const char *name, int64_t start, int64_t end, int64_t size, int root, MPI_Comm comm, int posted, uint64_t site);
void mr_wait(const char *name, int64_t start, int64_t end, int n_requests, int64_t id, uint64_t site);
void mr_flush_probe(void);
MPI_Comm mr_probed_comm(void); /* of the last probe, where no event followed it */

/* requests.c */
void mr_post(MPI_Request request, mr_record *record, int is_receive, int persistent);
void mr_start(MPI_Request request, int64_t start, int64_t end, const char *name, uint64_t site);
int mr_complete(MPI_Request request, MPI_Status *status, int64_t wait_id);
void mr_forget_request(MPI_Request request);

/* regions.c */
void mr_regions_from_environment(void);
void mr_close_regions(void);
void mr_count_call(const char *name, int64_t start, int64_t end, int64_t size, uint64_t site);

/* clocks.c */
void mr_read_clocks(int when);

#endif
