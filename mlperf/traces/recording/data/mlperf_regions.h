/* Marks parallel regions for the recorder of mlperf; does nothing where the recorder is not loaded. Needs no library but the system's.

   MLPERF_REGION_BEGIN("solve"); ... MLPERF_REGION_END("solve");   named, may be repeated and nested
   PRGN_BEGIN; ... PRGN_END;                                       without a name

   Fortran calls mlperf_region_begin('solve'), prgn_begin() and so on in the recorder itself; a compiler that appends no underscore to
   names passes 'solve'//char(0). Such programs are linked with the recorder. */
#ifndef MLPERF_REGIONS_H
#define MLPERF_REGIONS_H

#include <dlfcn.h>
#include <stddef.h>

/* Inlined, so that the place of a mark is where the program has it, not here. */
#if defined(__GNUC__)
#define MLPERF_INLINE static inline __attribute__((always_inline))
#else
#define MLPERF_INLINE static inline
#endif

#ifdef __cplusplus
extern "C" {
#endif

MLPERF_INLINE void mlperf_region_call(void **known, int *is_known, const char *function, const char *name) {
    if (!*is_known) *known = dlsym(RTLD_DEFAULT, function);
    *is_known = 1;
    if (*known) {
        void (*call)(const char *);
        *(void **)&call = *known;
        call(name);
    }
}

MLPERF_INLINE void mlperf_region_opened(const char *name) {
    static void *known;
    static int is_known;
    mlperf_region_call(&known, &is_known, "mlperf_region_begin", name);
}

MLPERF_INLINE void mlperf_region_closed(const char *name) {
    static void *known;
    static int is_known;
    mlperf_region_call(&known, &is_known, "mlperf_region_end", name);
}

#ifdef __cplusplus
}
#endif

#define MLPERF_REGION_BEGIN(name) mlperf_region_opened(name)
#define MLPERF_REGION_END(name) mlperf_region_closed(name)
#define PRGN_BEGIN MLPERF_REGION_BEGIN("PRGN")
#define PRGN_END MLPERF_REGION_END("PRGN")

#endif
