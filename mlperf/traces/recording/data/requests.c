/* Requests: which record waits for the answer. */
#include "record.h"

#include <stdlib.h>

#define BUCKETS 4096

typedef struct pending {
    MPI_Request request;
    mr_record *record;
    int is_receive, persistent;
    mr_record first; /* of a persistent request: what each start repeats */
    struct pending *next;
} pending;

static pending *buckets[BUCKETS], *spare;

static pending **place(MPI_Request request) {
    uint64_t number = (uint64_t)(uintptr_t)request;
    pending **at = &buckets[(number * 0x9E3779B97F4A7C15u) >> 52];
    while (*at && (*at)->request != request) at = &(*at)->next;
    return at;
}

void mr_post(MPI_Request request, mr_record *record, int is_receive, int persistent) {
    /* A null record: recorded while nothing was, or only counted; waiting for it is then no event of ours either. */
    if (request == MPI_REQUEST_NULL || !record) return;
    mr_lock();
    pending **at = place(request), *found = *at;
    /* Libraries give sends that are done at once one handle: each is waited for by itself, the last first. */
    if (!found || (found->record && !found->is_receive && !found->persistent && !is_receive && !persistent)) {
        pending *made = spare;
        if (made) spare = made->next;
        else made = malloc(sizeof *made);
        if (!made) {
            mr_unlock();
            return;
        }
        made->next = found;
        *at = made;
    }
    (*at)->request = request;
    (*at)->record = persistent ? NULL : record;
    (*at)->is_receive = is_receive;
    (*at)->persistent = persistent;
    (*at)->first = *record;
    if (!persistent) record->flags |= MR_OPEN;
    mr_unlock();
}

void mr_start(MPI_Request request, int64_t start, int64_t end, const char *name, uint64_t site) {
    mr_lock();
    pending *found = *place(request);
    mr_record *record = NULL;
    if (found && found->persistent && mr_on && !mr_profile) {
        mr_flush_probe();
        mr_know_site(site);
        int32_t number = mr_string(name);
        record = mr_append();
        if (record) {
            *record = found->first;
            record->start_ns = start;
            record->end_ns = end;
            record->site = site;
            record->name = number;
            record->flags |= MR_OPEN;
        }
        found->record = record;
    }
    mr_unlock();
}

int mr_complete(MPI_Request request, MPI_Status *status, int64_t wait_id) {
    mr_lock();
    pending **at = place(request), *found = *at;
    mr_record *record = found ? found->record : NULL;
    if (record) {
        int cancelled = 0;
        MPI_Count bytes = 0;
        record->id = wait_id;
        record->flags &= (uint16_t)~MR_OPEN;
        if (status) PMPI_Test_cancelled(status, &cancelled);
        if (cancelled) record->flags |= MR_CANCELLED;
        else if (found->is_receive && status) {
            PMPI_Get_elements_x(status, MPI_BYTE, &bytes);
            record->size = bytes > 0 ? bytes : 0;
            record->tag = status->MPI_TAG;
            /* The communicator's ranks are not at hand here; the record keeps its own number, and readers know the members. */
            if (record->peer < 0) {
                record->peer = status->MPI_SOURCE;
                record->count = 1;
            }
        }
        found->record = NULL;
    }
    if (found && !found->persistent) {
        *at = found->next;
        found->next = spare;
        spare = found;
    }
    mr_unlock();
    return record != NULL;
}

void mr_forget_request(MPI_Request request) {
    mr_lock();
    pending **at = place(request), *found = *at;
    if (found) {
        *at = found->next;
        found->next = spare;
        spare = found;
    }
    mr_unlock();
}
