/* Records what an MPI program says to other ranks. Built by the user with the program's own MPI:

     mpicc -shared -fPIC -O2 -o libmlperf_record.so *.c -ldl -lpthread        (mlperf trace record --build FOLDER does it)

   and put before MPI by LD_PRELOAD (mlperf trace record -- mpirun ... does it) or by linking. Blocking calls, start and end of the
   program; the rest is in pmpi_requests.c, pmpi_collectives.c and pmpi_fortran.c. */
#include "record.h"
#include "small_counts.h"

#include <stdlib.h>

static int opened;

void mr_begin(void) {
    if (opened++) return;
    if (!mr_open()) {
        mr_on = 0;
        mr_size = 0;
        return;
    }
    mr_find_comm(MPI_COMM_WORLD);
    mr_find_comm(MPI_COMM_SELF);
    mr_read_clocks(0);
    mr_regions_from_environment();
}

void mr_finish(void) {
    if (!mr_size) return;
    mr_on = 0;
    mr_close_regions();
    mr_read_clocks(1);
    mr_no_comms();
    mr_close();
    mr_size = 0;
}

int MPI_Init(int *argc, char ***argv) {
    mr_inside++;
    int result = PMPI_Init(argc, argv);
    mr_inside--;
    if (mr_inside == 0) mr_begin();
    return result;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    mr_inside++;
    int result = PMPI_Init_thread(argc, argv, required, provided);
    mr_inside--;
    if (mr_inside == 0) mr_begin();
    return result;
}

int MPI_Finalize(void) {
    if (mr_inside == 0) mr_finish();
    return PMPI_Finalize();
}

#include "messages.inc"

int MPI_Probe(int from, int tag, MPI_Comm comm, MPI_Status *status) {
    MPI_Status own, *used = status == MPI_STATUS_IGNORE ? &own : status;
    if (!RECORDS || from == MPI_PROC_NULL) return PMPI_Probe(from, tag, comm, status);
    TIMED(PMPI_Probe(from, tag, comm, used));
    if (mr_profile) mr_count_call("MPI_Probe", start, end, 0, MR_SITE);
    else mr_probed("MPI_Probe", start, used, from, tag, comm, MR_SITE);
    return result;
}

int MPI_Mprobe(int from, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status) {
    MPI_Status own, *used = status == MPI_STATUS_IGNORE ? &own : status;
    if (!RECORDS || from == MPI_PROC_NULL) return PMPI_Mprobe(from, tag, comm, message, status);
    TIMED(PMPI_Mprobe(from, tag, comm, message, used));
    if (mr_profile) mr_count_call("MPI_Mprobe", start, end, 0, MR_SITE);
    /* Kept in a profile too: the receive that follows does not name the communicator. */
    mr_probed("MPI_Mprobe", start, used, from, tag, comm, MR_SITE);
    return result;
}

#define MAKES_COMM(NAME, PARAMETERS, ARGUMENTS)                                       \
    int MPI_##NAME PARAMETERS {                                                       \
        mr_inside++;                                                                  \
        int result = PMPI_##NAME ARGUMENTS;                                           \
        mr_inside--;                                                                  \
        if (mr_size && mr_inside == 0 && result == MPI_SUCCESS) mr_new_comm(*made);   \
        return result;                                                                \
    }
MAKES_COMM(Comm_dup, (MPI_Comm comm, MPI_Comm *made), (comm, made))
MAKES_COMM(Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *made), (comm, info, made))
MAKES_COMM(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *made), (comm, color, key, made))
MAKES_COMM(Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made), (comm, type, key, info, made))
MAKES_COMM(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *made), (comm, group, made))
MAKES_COMM(Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *made), (comm, group, tag, made))
MAKES_COMM(Cart_create, (MPI_Comm comm, int n, const int sizes[], const int periods[], int reorder, MPI_Comm *made),
           (comm, n, sizes, periods, reorder, made))
MAKES_COMM(Cart_sub, (MPI_Comm comm, const int kept[], MPI_Comm *made), (comm, kept, made))
MAKES_COMM(Intercomm_create, (MPI_Comm own, int leader, MPI_Comm peers, int other, int tag, MPI_Comm *made),
           (own, leader, peers, other, tag, made))
MAKES_COMM(Intercomm_merge, (MPI_Comm comm, int high, MPI_Comm *made), (comm, high, made))

int MPI_Comm_free(MPI_Comm *comm) {
    mr_forget_comm(*comm);
    return PMPI_Comm_free(comm);
}
