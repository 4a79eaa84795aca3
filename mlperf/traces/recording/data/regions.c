/* Parallel regions, what of the run is recorded, and counts by call where nothing but counts is asked for. */
#define _GNU_SOURCE
#include "record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEEPEST 64
#define MOST_NAMES 512
#define MOST_CALLS 4096

static struct { mr_record *record; int name, selected; int64_t start; } stack[DEEPEST];
static struct { char *name; int32_t number; int64_t passes, total_ns; int selected; } names[MOST_NAMES];
static int depth, n_names, n_selected, control = 1, n_wrong;
static const char *wanted;
static int64_t first_pass, last_pass = INT64_MAX;
static int filtered;

static void decide(void) { mr_on = control && (!filtered || n_selected > 0); }

void mr_regions_from_environment(void) {
    const char *passes = getenv("MLPERF_RECORD_ITERATIONS"), *paused = getenv("MLPERF_RECORD_PAUSED");
    const char *profile = getenv("MLPERF_RECORD_PROFILE");
    wanted = getenv("MLPERF_RECORD_REGION");
    if (wanted && !*wanted) wanted = NULL;
    if (passes && *passes) {
        const char *colon = strchr(passes, ':');
        first_pass = strtoll(passes, NULL, 10);
        last_pass = !colon ? first_pass + 1 : colon[1] ? strtoll(colon + 1, NULL, 10) : INT64_MAX;
    }
    filtered = wanted != NULL || (passes && *passes);
    control = !(paused && *paused == '1');
    mr_profile = profile && *profile == '1';
    decide();
}

static int numbered(const char *name) {
    for (int at = 0; at < n_names; at++)
        if (strcmp(names[at].name, name) == 0) return at;
    if (n_names == MOST_NAMES) return MOST_NAMES - 1;
    names[n_names].name = strdup(name);
    names[n_names].number = mr_string(name);
    return n_names++;
}

static int is_selected(int name, int64_t pass) {
    if (!filtered || pass < first_pass || pass >= last_pass) return 0;
    /* Without a name, the passes of outermost regions are what is counted. */
    return wanted ? strcmp(names[name].name, wanted) == 0 : depth == 0;
}

void mr_region_open(const char *name, uint64_t site) {
    if (!mr_size || depth == DEEPEST) return;
    mr_lock();
    mr_flush_probe();
    mr_know_site(site);
    int at = numbered(name);
    int64_t pass = names[at].passes++;
    stack[depth].name = at;
    stack[depth].selected = is_selected(at, pass);
    n_selected += stack[depth].selected;
    decide();
    mr_record *record = mr_append();
    stack[depth].record = record;
    stack[depth].start = mr_now();
    if (record) {
        record->peer = record->tag = record->comm = -1;
        record->name = names[at].number;
        record->id = pass;
        record->count = depth;
        record->site = site;
        record->flags = (uint16_t)(MR_OPEN | (mr_on ? 0 : MR_POSTED));
        record->start_ns = record->end_ns = stack[depth].start;
        record->kind = MR_REGION;
    }
    depth++;
    mr_unlock();
}

static void close_innermost(int64_t now) {
    depth--;
    mr_flush_probe();
    if (stack[depth].record) {
        stack[depth].record->end_ns = now;
        stack[depth].record->flags &= (uint16_t)~MR_OPEN;
    }
    names[stack[depth].name].total_ns += now - stack[depth].start;
    n_selected -= stack[depth].selected;
    decide();
}

void mr_region_close(const char *name) {
    int64_t now = mr_now();
    if (!mr_size) return;
    mr_lock();
    int at = depth - 1;
    while (name && *name && at >= 0 && strcmp(names[stack[at].name].name, name) != 0) at--;
    if (at < 0) n_wrong++;
    /* An end that skips inner ones closes them too. */
    else while (depth > at) close_innermost(now);
    mr_unlock();
}

void mr_close_regions(void) {
    mr_lock();
    int64_t now = mr_now();
    n_wrong += depth;
    while (depth > 0) close_innermost(now);
    mr_flush_probe();
    mr_record *record = mr_append();
    if (record) {
        record->id = n_wrong;
        record->size = mr_own_ns;
        record->kind = MR_COUNT;
    }
    mr_unlock();
}

void mr_count_call(const char *name, int64_t start, int64_t end, int64_t size, uint64_t site) {
    static struct { uint64_t site; const char *name; int region; mr_record *record; } calls[MOST_CALLS];
    mr_lock();
    int region = depth ? stack[depth - 1].name : -1;
    unsigned slot = (unsigned)(((site ^ (uint64_t)(uintptr_t)name ^ (uint64_t)(region + 1) << 40) * 0x9E3779B97F4A7C15u) >> 52);
    unsigned tried = 0;
    while (tried < MOST_CALLS && calls[slot].record && (calls[slot].site != site || calls[slot].name != name || calls[slot].region != region)) {
        slot = (slot + 1) % MOST_CALLS;
        tried++;
    }
    if (tried < MOST_CALLS && !calls[slot].record) {
        mr_know_site(site);
        int32_t number = mr_string(name);
        calls[slot].site = site;
        calls[slot].name = name;
        calls[slot].region = region;
        calls[slot].record = mr_append();
        if (calls[slot].record) {
            calls[slot].record->name = number;
            calls[slot].record->site = site;
            calls[slot].record->comm = region < 0 ? -1 : names[region].number;
            calls[slot].record->kind = MR_PROFILE;
        }
    }
    if (tried < MOST_CALLS && calls[slot].record) {
        calls[slot].record->start_ns += end - start;
        calls[slot].record->size += size;
        calls[slot].record->id++;
    }
    mr_unlock();
}

void mlperf_region_begin(const char *name) { mr_region_open(name && *name ? name : "PRGN", MR_SITE); }
void mlperf_region_end(const char *name) { mr_region_close(name); }

static const char *fortran_text(const char *text, long length, char *buffer, long room) {
    if (length > room - 1) length = room - 1;
    while (length > 0 && text[length - 1] == ' ') length--;
    memcpy(buffer, text, (size_t)length);
    buffer[length] = 0;
    return buffer;
}

void mlperf_region_begin_(const char *name, long length) {
    char buffer[256];
    mr_region_open(fortran_text(name, length, buffer, sizeof buffer), MR_SITE);
}
void mlperf_region_end_(const char *name, long length) {
    char buffer[256];
    mr_region_close(fortran_text(name, length, buffer, sizeof buffer));
}
void prgn_begin(void) { mr_region_open("PRGN", MR_SITE); }
void prgn_begin_(void) { mr_region_open("PRGN", MR_SITE); }
void prgn_end(void) { mr_region_close("PRGN"); }
void prgn_end_(void) { mr_region_close("PRGN"); }

static int controlled(int level) {
    mr_lock();
    control = level != 0;
    decide();
    mr_unlock();
    return MPI_SUCCESS;
}

int MPI_Pcontrol(const int level, ...) { return controlled(level); }
void mpi_pcontrol_(const int *level, int *error) {
    (void)error; /* some bindings pass none */
    controlled(*level);
}
void mpi_pcontrol(const int *level, int *error) { mpi_pcontrol_(level, error); }
