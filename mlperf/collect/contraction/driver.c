/* Runs the kernels of a table on request: one line in, one line out.

   run INDEX LEAST_NS   ->  n_runs cpu_ns wall_ns cycles checksum     (cycles: 0 without a counter)
   clock                ->  cycles per second, from a chain of dependent one-cycle instructions (0: not known here)

   With arguments: calls the kernels of these indices once each, in this order, for a simulator. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__) && defined(__has_include)
#if __has_include(<linux/perf_event.h>)
#include <linux/perf_event.h>
#include <sys/syscall.h>
#define COUNTER 1
#endif
#endif

struct kernel { const char *name; void (*call)(void); };
extern const struct kernel kernels[];
extern const int n_kernels;
extern float *const arrays[];
extern const long lengths[];
extern const int n_arrays;

/* splitmix64 of a position: the upper 24 bits are a float in [0, 1) */
static float noise(uint64_t position) {
  uint64_t z = (position + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  return (float)(z >> 40) * 0x1p-24f;
}

static void fill(void) {
  for (int a = 1; a < n_arrays; a++)
    for (long f = 0; f < lengths[a]; f++) arrays[a][f] = noise(((uint64_t)a << 40) + (uint64_t)f);
}

static double checksum(void) {
  double sum = 0;
  for (long f = 0; f < lengths[0]; f++) sum += (double)arrays[0][f] * (1.0 + (double)noise((uint64_t)f));
  return sum;
}

static volatile float touched;

/* What the kernel before left in the caches must not matter: zero the result, read every operand once. */
static void prepare(void) {
  memset(arrays[0], 0, (size_t)lengths[0] * sizeof(float));
  for (int a = 1; a < n_arrays; a++)
    for (long f = 0; f < lengths[a]; f += 16) touched = arrays[a][f];
}

static int64_t now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int counter = -1;

static void open_counter(void) {
#ifdef COUNTER
  struct perf_event_attr wanted;
  memset(&wanted, 0, sizeof wanted);
  wanted.size = sizeof wanted;
  wanted.type = PERF_TYPE_HARDWARE;
  wanted.config = PERF_COUNT_HW_CPU_CYCLES;
  wanted.exclude_kernel = 1;
  wanted.exclude_hv = 1;
  wanted.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  counter = (int)syscall(SYS_perf_event_open, &wanted, 0, -1, -1, 0);
#endif
}

struct reading { uint64_t value, enabled, running; };

static struct reading read_counter(void) {
  struct reading found = {0, 0, 0};
  if (counter >= 0 && read(counter, &found, sizeof found) != (ssize_t)sizeof found) memset(&found, 0, sizeof found);
  return found;
}

/* Cycles between two readings; 0 where the counter did not run all the time. */
static uint64_t counted(struct reading from, struct reading to) {
  uint64_t running = to.running - from.running;
  return running == 0 || running != to.enabled - from.enabled ? 0 : to.value - from.value;
}

static void run(int index, int64_t least_ns) {
  long runs = 0, batch = 1;
  int64_t cpu_ns = 0;
  prepare();
  struct reading first = read_counter();
  int64_t wall_from = now(CLOCK_MONOTONIC), cpu_from = now(CLOCK_THREAD_CPUTIME_ID);
  do {
    for (long i = 0; i < batch; i++) kernels[index].call();
    runs += batch;
    batch = runs;
    cpu_ns = now(CLOCK_THREAD_CPUTIME_ID) - cpu_from;
  } while (cpu_ns < least_ns);
  int64_t wall_ns = now(CLOCK_MONOTONIC) - wall_from;
  uint64_t cycles = counted(first, read_counter());
  if (runs > 1) { /* thousands of calls add up rounding of single precision that says nothing of the code: check one */
    memset(arrays[0], 0, (size_t)lengths[0] * sizeof(float));
    kernels[index].call();
  }
  double sum = checksum() * (double)runs;
  printf("%ld %lld %lld %llu %.17g\n", runs, (long long)cpu_ns, (long long)wall_ns, (unsigned long long)cycles, sum);
}

#define CHAIN 1000
#define TEN(x) x x x x x x x x x x
static double core_hz(void) {
  double best = 0;
#if defined(__x86_64__) || defined(__aarch64__)
  for (int attempt = 0; attempt < 5; attempt++) {
    uint64_t x = 1;
    int64_t from = now(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < 2000; i++) {
#if defined(__x86_64__)
      __asm__ volatile(TEN(TEN(TEN("notq %0\n\t"))) : "+r"(x));
#else
      __asm__ volatile(TEN(TEN(TEN("mvn %0, %0\n\t"))) : "+r"(x));
#endif
    }
    double found = 2000.0 * CHAIN * 1e9 / (double)(now(CLOCK_THREAD_CPUTIME_ID) - from);
    if (found > best) best = found;
  }
#endif
  return best;
}

int main(int n_words, char **words) {
  char line[128];
  fill();
  if (n_words > 1) {
    for (int w = 1; w < n_words; w++) {
      int index = atoi(words[w]);
      if (index < 0 || index >= n_kernels) return 2;
      memset(arrays[0], 0, (size_t)lengths[0] * sizeof(float));
      kernels[index].call();
      printf("%.17g\n", checksum());
    }
    return 0;
  }
  open_counter();
  setvbuf(stdout, NULL, _IOLBF, 0);
  while (fgets(line, sizeof line, stdin)) {
    int index;
    long long least_ns;
    if (sscanf(line, "run %d %lld", &index, &least_ns) == 2 && index >= 0 && index < n_kernels) run(index, least_ns);
    else if (strncmp(line, "clock", 5) == 0) printf("%.17g\n", core_hz());
    else return 2;
  }
  return 0;
}
