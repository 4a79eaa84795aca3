/* Calls that post messages, and those that wait for them. */
#include "record.h"

#include "small_counts.h"

#include <stdlib.h>
#include <string.h>

#define FEW 64

#include "posts.inc"

int MPI_Start(MPI_Request *request) {
    mr_inside++;
    int64_t start = mr_now();
    int result = PMPI_Start(request);
    int64_t end = mr_now();
    mr_inside--;
    if (mr_inside == 0) mr_start(*request, start, end, "MPI_Start", MR_SITE);
    return result;
}

int MPI_Startall(int count, MPI_Request requests[]) {
    mr_inside++;
    int64_t start = mr_now();
    int result = PMPI_Startall(count, requests);
    int64_t end = mr_now();
    mr_inside--;
    if (mr_inside == 0)
        for (int at = 0; at < count; at++) mr_start(requests[at], start, end, "MPI_Startall", MR_SITE);
    return result;
}

int MPI_Request_free(MPI_Request *request) {
    mr_forget_request(*request);
    return PMPI_Request_free(request);
}

/* Requests as they were before the call, which forgets them, and a place for the answers where the program wants none. */
typedef struct {
    MPI_Request few[FEW], *requests;
    MPI_Status few_own[FEW], *own, *used;
    int64_t start;
} wait_call;

static void before(wait_call *call, int count, const MPI_Request requests[], MPI_Status *statuses) {
    call->requests = count <= FEW ? call->few : malloc(sizeof(MPI_Request) * (size_t)count);
    call->own = count <= FEW ? call->few_own : malloc(sizeof(MPI_Status) * (size_t)count);
    call->used = statuses == MPI_STATUSES_IGNORE || statuses == MPI_STATUS_IGNORE ? call->own : statuses;
    if (count > 0) memcpy(call->requests, requests, sizeof(MPI_Request) * (size_t)count);
    mr_inside++;
    call->start = mr_now();
}

/* indices: which of the requests are complete (NULL: the first n); statuses stand in their order. */
static void after(wait_call *call, const char *name, int n, const int *indices, uint64_t site) {
    int64_t end = mr_now(), number = mr_number();
    int n_live = 0;
    mr_inside--;
    if (mr_inside == 0) {
        for (int at = 0; at < n; at++) {
            MPI_Request request = call->requests[indices ? indices[at] : at];
            n_live += request != MPI_REQUEST_NULL;
            /* While nothing is recorded, requests are completed all the same, by no wait of ours. */
            mr_complete(request, &call->used[at], mr_on ? number : 0);
        }
        if (mr_on && n_live) mr_wait(name, call->start, end, n_live, number, site);
    }
    if (call->requests != call->few) free(call->requests);
    if (call->own != call->few_own) free(call->own);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status) {
    wait_call call;
    before(&call, 1, request, status);
    int result = PMPI_Wait(request, call.used);
    after(&call, "MPI_Wait", 1, NULL, MR_SITE);
    return result;
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
    wait_call call;
    before(&call, count, requests, statuses);
    int result = PMPI_Waitall(count, requests, call.used);
    after(&call, "MPI_Waitall", count, NULL, MR_SITE);
    return result;
}

int MPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status) {
    wait_call call;
    before(&call, count, requests, status);
    int result = PMPI_Waitany(count, requests, index, call.used);
    after(&call, "MPI_Waitany", *index != MPI_UNDEFINED, index, MR_SITE);
    return result;
}

int MPI_Waitsome(int count, MPI_Request requests[], int *n_done, int indices[], MPI_Status statuses[]) {
    wait_call call;
    before(&call, count, requests, statuses);
    int result = PMPI_Waitsome(count, requests, n_done, indices, call.used);
    after(&call, "MPI_Waitsome", *n_done == MPI_UNDEFINED ? 0 : *n_done, indices, MR_SITE);
    return result;
}

/* A test that finds nothing is no event: between two of them the program may compute. */
int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
    wait_call call;
    before(&call, 1, request, status);
    int result = PMPI_Test(request, flag, call.used);
    after(&call, "MPI_Test", *flag ? 1 : 0, NULL, MR_SITE);
    return result;
}

int MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[]) {
    wait_call call;
    before(&call, count, requests, statuses);
    int result = PMPI_Testall(count, requests, flag, call.used);
    after(&call, "MPI_Testall", *flag ? count : 0, NULL, MR_SITE);
    return result;
}

int MPI_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status) {
    wait_call call;
    before(&call, count, requests, status);
    int result = PMPI_Testany(count, requests, index, flag, call.used);
    after(&call, "MPI_Testany", *flag && *index != MPI_UNDEFINED, index, MR_SITE);
    return result;
}

int MPI_Testsome(int count, MPI_Request requests[], int *n_done, int indices[], MPI_Status statuses[]) {
    wait_call call;
    before(&call, count, requests, statuses);
    int result = PMPI_Testsome(count, requests, n_done, indices, call.used);
    after(&call, "MPI_Testsome", *n_done == MPI_UNDEFINED ? 0 : *n_done, indices, MR_SITE);
    return result;
}
