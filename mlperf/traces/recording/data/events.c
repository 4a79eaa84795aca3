/* How calls become records. */
#include "record.h"

#define SAMPLED 64

int64_t mr_own_ns;
static int64_t n_calls, n_events;
static struct { const char *name; int64_t start, end; int peer, tag, asked, asked_tag; MPI_Comm comm; uint64_t site; int there; } probe;

int64_t mr_number(void) { return __atomic_add_fetch(&n_calls, 1, __ATOMIC_RELAXED); }

int64_t mr_bytes(int64_t count, MPI_Datatype type) {
    static __thread MPI_Datatype last = MPI_DATATYPE_NULL;
    static __thread int last_size;
    if (count <= 0 || type == MPI_DATATYPE_NULL) return 0;
    if (type != last) {
        PMPI_Type_size(type, &last_size);
        /* Numbers of freed derived types come back: only those of the library itself may be remembered. */
        last = type == MPI_BYTE || type == MPI_CHAR || type == MPI_INT || type == MPI_FLOAT || type == MPI_DOUBLE ? type : MPI_DATATYPE_NULL;
    }
    return count * last_size;
}

/* From the end of the call to now, under the lock; of every event at first, when names are new, then of one in many. */
static void own_cost(int64_t end) {
    int64_t number = n_events++;
    if (number < SAMPLED) mr_own_ns += mr_now() - end;
    else if (number % SAMPLED == 0) mr_own_ns += (mr_now() - end) * SAMPLED;
}

static mr_record *event(int kind, const char *name, int64_t start, int64_t end, uint64_t site) {
    mr_know_site(site);
    int32_t number = mr_string(name);
    mr_record *record = mr_append();
    if (!record) return NULL;
    record->start_ns = start;
    record->end_ns = end;
    record->peer = record->tag = record->comm = -1;
    record->name = number;
    record->site = site;
    record->kind = (uint8_t)kind;
    return record;
}

void mr_probed(const char *name, int64_t start, MPI_Status *status, int asked, int asked_tag, MPI_Comm comm, uint64_t site) {
    int64_t end = mr_now();
    mr_lock();
    mr_flush_probe();
    probe.name = name;
    probe.start = start;
    probe.end = end;
    probe.peer = status->MPI_SOURCE;
    probe.tag = status->MPI_TAG;
    probe.asked = asked;
    probe.asked_tag = asked_tag;
    probe.comm = comm;
    probe.site = site;
    probe.there = 1;
    mr_unlock();
}

MPI_Comm mr_probed_comm(void) { return probe.there ? probe.comm : MPI_COMM_NULL; }

/* A probe that no receive of the same message follows at once stands for itself, as a wait for no request. */
void mr_flush_probe(void) {
    if (!probe.there) return;
    probe.there = 0;
    event(MR_WAIT, probe.name, probe.start, probe.end, probe.site);
}

mr_record *mr_message(int kind, const char *name, int64_t start, int64_t end, int64_t size, int peer, int tag, MPI_Comm comm,
                      int flags, int64_t id, uint64_t site) {
    if (mr_profile) {
        mr_count_call(name, start, end, size, site);
        return NULL;
    }
    mr_lock();
    mr_flush_probe();
    mr_comm *group = mr_find_comm(comm);
    mr_record *record = event(kind, name, start, end, site);
    if (record) {
        record->size = size;
        record->peer = peer == MPI_ANY_SOURCE ? -1 : mr_world_rank(group, peer);
        record->tag = tag == MPI_ANY_TAG ? -1 : tag;
        record->comm = group ? group->id : -1;
        record->flags = (uint16_t)(flags | (peer == MPI_ANY_SOURCE || tag == MPI_ANY_TAG ? MR_WILDCARD : 0));
        record->id = id;
    }
    own_cost(end);
    mr_unlock();
    return record;
}

mr_record *mr_received(const char *name, int64_t start, int64_t end, MPI_Status *status, int asked, int asked_tag, MPI_Comm comm,
                       int flags, int64_t id, uint64_t site) {
    MPI_Count bytes = 0;
    PMPI_Get_elements_x(status, MPI_BYTE, &bytes);
    mr_lock();
    if (probe.there && probe.peer == status->MPI_SOURCE && probe.tag == status->MPI_TAG && probe.comm == comm) {
        /* The receive waited where the probe did. */
        start = probe.start;
        asked = probe.asked;
        asked_tag = probe.asked_tag;
        probe.there = 0;
    }
    if (asked == MPI_ANY_SOURCE || asked_tag == MPI_ANY_TAG) flags |= MR_WILDCARD;
    mr_record *record = mr_message(MR_RECV, name, start, end, bytes > 0 ? bytes : 0, status->MPI_SOURCE, status->MPI_TAG, comm, flags,
                                   id, site);
    mr_unlock();
    return record;
}

void mr_collective(const char *name, int64_t start, int64_t end, int64_t size, int root, MPI_Comm comm, int posted, uint64_t site) {
    if (mr_profile) {
        mr_count_call(name, start, end, size, site);
        return;
    }
    mr_lock();
    mr_flush_probe();
    mr_comm *group = mr_find_comm(comm);
    mr_record *record = event(MR_COLL, name, start, end, site);
    if (record && group) {
        record->size = size;
        record->peer = root < 0 ? -1 : mr_world_rank(group, root);
        record->comm = group->id;
        record->flags = posted ? MR_POSTED : 0;
        record->id = group->n_collectives;
    }
    own_cost(end);
    mr_unlock();
}

void mr_wait(const char *name, int64_t start, int64_t end, int n_requests, int64_t id, uint64_t site) {
    if (mr_profile) {
        mr_count_call(name, start, end, 0, site);
        return;
    }
    mr_lock();
    mr_flush_probe();
    mr_record *record = event(MR_WAIT, name, start, end, site);
    if (record) {
        record->id = id;
        record->count = n_requests;
    }
    own_cost(end);
    mr_unlock();
}
