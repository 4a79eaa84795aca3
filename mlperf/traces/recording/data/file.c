/* The file of one rank, mapped into memory piece by piece: what was stored is kept by the system if the program is killed. */
#define _GNU_SOURCE
#include "record.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PIECE_RECORDS 16384
#define PIECE_BYTES (PIECE_RECORDS * (int64_t)sizeof(mr_record))
#define MOST_PIECES 65536
#define SLOTS 4096

int mr_on, mr_profile, mr_rank, mr_size;
__thread int mr_inside;

static int file = -1;
static mr_record *pieces[MOST_PIECES];
static int64_t n_records;
static pthread_mutex_t mutex;

int64_t mr_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void mr_lock(void) { pthread_mutex_lock(&mutex); }
void mr_unlock(void) { pthread_mutex_unlock(&mutex); }

mr_record *mr_append(void) {
    int64_t piece = n_records / PIECE_RECORDS;
    if (file < 0 || piece >= MOST_PIECES) return NULL;
    if (!pieces[piece]) {
        /* Room is claimed, not only named: a full disk must be seen here, not as a bus error later. */
        int error = posix_fallocate(file, piece * PIECE_BYTES, PIECE_BYTES);
        void *memory = error ? MAP_FAILED : mmap(NULL, PIECE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, piece * PIECE_BYTES);
        if (memory == MAP_FAILED) {
            fprintf(stderr, "mlperf recorder: rank %d stops recording after %lld records: %s\n", mr_rank, (long long)n_records,
                    strerror(error ? error : errno));
            file = -1;
            return NULL;
        }
        pieces[piece] = memory;
    }
    return &pieces[piece][n_records++ % PIECE_RECORDS];
}

void mr_text(int kind, int flags, int32_t number, uint64_t site, const char *text, int length) {
    mr_record *head = mr_append();
    if (!head) return;
    head->flags = (uint16_t)flags;
    head->name = number;
    head->site = site;
    head->count = length;
    int done = 0;
    for (; done < length; done += (int)sizeof(mr_record)) {
        mr_record *part = mr_append();
        int rest = length - done < (int)sizeof(mr_record) ? length - done : (int)sizeof(mr_record);
        if (!part) return;
        memcpy(part, text + done, (size_t)rest);
    }
    /* Last, so that a reader of a torn file meets either the whole text or its end. */
    head->kind = (uint8_t)kind;
}

int32_t mr_string(const char *text) {
    static struct { char *text; } known[SLOTS];
    static const char *addresses[SLOTS];
    static int32_t numbers[SLOTS];
    static int32_t n_known;
    unsigned slot = (unsigned)(((uintptr_t)text >> 3) % SLOTS);
    if (addresses[slot] == text && numbers[slot] < n_known && strcmp(known[numbers[slot]].text, text) == 0) return numbers[slot];
    int32_t number = 0;
    while (number < n_known && strcmp(known[number].text, text) != 0) number++;
    if (number == n_known) {
        if (n_known == SLOTS) return SLOTS - 1;
        known[n_known++].text = strdup(text);
        mr_text(MR_STRING, 0, number, 0, text, (int)strlen(text));
    }
    addresses[slot] = text;
    numbers[slot] = number;
    return number;
}

void mr_know_site(uint64_t site) {
    static uint64_t known[SLOTS];
    unsigned slot = (unsigned)((site * 0x9E3779B97F4A7C15u) >> 52);
    if (known[slot] == site || !site) return;
    /* Two sites may share a slot: each is then described more than once, which readers allow. */
    known[slot] = site;
    Dl_info info;
    char text[4096] = "\t0\t0\t";
    if (dladdr((void *)(uintptr_t)site, &info) && info.dli_fname) {
        char path[3072];
        const char *name = realpath(info.dli_fname[0] ? info.dli_fname : "/proc/self/exe", path) ? path : info.dli_fname;
        snprintf(text, sizeof text, "%s\t%llx\t%llx\t%s", name, (unsigned long long)(site - (uintptr_t)info.dli_fbase),
                 (unsigned long long)site, info.dli_sname ? info.dli_sname : "");
    }
    mr_text(MR_SITE_TEXT, 0, 0, site, text, (int)strlen(text));
}

int mr_open(void) {
    const char *folder = getenv("MLPERF_RECORD_DIR");
    char path[4096], host[256] = "", boot[64] = "";
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&mutex, &kind);
    PMPI_Comm_rank(MPI_COMM_WORLD, &mr_rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &mr_size);
    snprintf(path, sizeof path, "%s/rank-%05d.mlr", folder ? folder : ".", mr_rank);
    file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
    if (file < 0) {
        fprintf(stderr, "mlperf recorder: rank %d records nothing: %s: %s\n", mr_rank, path, strerror(errno));
        return 0;
    }
    mr_record *header = mr_append();
    if (!header) return 0;
    memcpy(header, "MLPERFR1", 8);
    header->end_ns = mr_now();
    header->peer = mr_rank;
    header->tag = mr_size;
    header->comm = (int32_t)sizeof(mr_record);
    header->size = (int64_t)getpid();
    header->id = MR_VERSION;
    gethostname(host, sizeof host - 1);
    int random = open("/proc/sys/kernel/random/boot_id", O_RDONLY);
    if (random >= 0) {
        ssize_t got = read(random, boot, sizeof boot - 1);
        boot[got > 0 ? got - 1 : 0] = 0;
        close(random);
    }
    mr_text(MR_STRING, 0, -1, 0, host, (int)strlen(host));
    mr_text(MR_STRING, 0, -2, 0, boot, (int)strlen(boot));
    mr_text(MR_STRING, 0, -3, 0, "pmpi", 4);
    return 1;
}

void mr_close(void) {
    mr_record *end = mr_append();
    if (end) {
        end->start_ns = end->end_ns = mr_now();
        end->id = n_records;
        end->kind = MR_END;
    }
    int open_file = file;
    int64_t bytes = n_records * (int64_t)sizeof(mr_record);
    file = -1;
    for (int piece = 0; piece < MOST_PIECES && pieces[piece]; piece++) munmap(pieces[piece], PIECE_BYTES);
    if (open_file >= 0 && (ftruncate(open_file, bytes) || close(open_file)))
        fprintf(stderr, "mlperf recorder: rank %d: %s\n", mr_rank, strerror(errno));
}
