/* Communicators: their ranks as ranks of the world, and their members in the file, by which readers know one again on other ranks. */
#include "record.h"

#include <stdlib.h>
#include <string.h>

static int keyval = MPI_KEYVAL_INVALID;
static int32_t n_comms;
static MPI_Comm last = MPI_COMM_NULL;
static mr_comm *last_found;

static int *translated(MPI_Group group, int size) {
    MPI_Group world;
    int *own = malloc(sizeof(int) * (size_t)(size + 1)), *found = malloc(sizeof(int) * (size_t)(size + 1));
    for (int rank = 0; rank < size; rank++) own[rank] = rank;
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_translate_ranks(group, size, own, world, found);
    PMPI_Group_free(&world);
    free(own);
    /* Processes that joined later are of no rank of this world. */
    for (int rank = 0; rank < size; rank++)
        if (found[rank] == MPI_UNDEFINED) found[rank] = -1;
    return found;
}

static mr_comm *described(MPI_Comm comm) {
    mr_comm *found = calloc(1, sizeof *found);
    MPI_Group group;
    int own_size;
    PMPI_Comm_test_inter(comm, &found->inter);
    PMPI_Comm_group(comm, &group);
    PMPI_Group_size(group, &own_size);
    int *own = translated(group, own_size), *members = own, n_members = own_size;
    PMPI_Group_free(&group);
    found->world = own;
    found->size = own_size;
    if (found->inter) {
        PMPI_Comm_remote_group(comm, &group);
        PMPI_Group_size(group, &found->size);
        found->world = translated(group, found->size);
        PMPI_Group_free(&group);
        /* Both sides name the members in the same order. */
        int first = own_size && found->size && own[0] < found->world[0];
        n_members = own_size + found->size;
        members = malloc(sizeof(int) * (size_t)n_members);
        memcpy(members + (first ? 0 : found->size), own, sizeof(int) * (size_t)own_size);
        memcpy(members + (first ? own_size : 0), found->world, sizeof(int) * (size_t)found->size);
    }
    found->id = n_comms++;
    mr_text(MR_COMM, 0, found->id, 0, (const char *)members, n_members * (int)sizeof(int));
    if (members != own) {
        free(members);
        free(own);
    }
    return found;
}

mr_comm *mr_find_comm(MPI_Comm comm) {
    mr_comm *found = NULL;
    int is_there = 0;
    if (comm == last && last_found) return last_found;
    if (comm == MPI_COMM_NULL) return NULL;
    if (keyval == MPI_KEYVAL_INVALID)
        PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    PMPI_Comm_get_attr(comm, keyval, &found, &is_there);
    if (!is_there) {
        found = described(comm);
        PMPI_Comm_set_attr(comm, keyval, found);
    }
    last = comm;
    last_found = found;
    return found;
}

void mr_new_comm(MPI_Comm comm) {
    mr_lock();
    mr_find_comm(comm);
    mr_unlock();
}

void mr_forget_comm(MPI_Comm comm) {
    if (comm == last) last_found = NULL;
}

void mr_no_comms(void) {
    last_found = NULL;
    if (keyval != MPI_KEYVAL_INVALID) PMPI_Comm_free_keyval(&keyval);
}

int mr_world_rank(mr_comm *comm, int rank) {
    return comm && rank >= 0 && rank < comm->size ? comm->world[rank] : -1;
}
