/* The C side of a library that a plan builds: it checks, allocates, packs, and lets threads share out the blocks of C.

   product.h comes before this file in the same directory; `building.py` writes it. It has the sizes of the plan as macros, and
   the prototypes of the kernels that LLVM compiled:

       PREFIX(x)                  the public name with x behind it
       PANELS_A, PANELS_B         panels to be packed; PANELS_A is 0 where A is loaded as it lies
       PACKED_A_BYTES, PACKED_B_BYTES, SCRATCH_BYTES
       BLOCKS_DOWN, BLOCKS_ACROSS blocks of C; DOWN_FIRST whether neighbours in the walk lie below one another
       MORE_PARAMETERS, MORE_ARGUMENTS, MORE_MISSING     the bias and the scales of the public functions
       PACK_A(job, panel), PACK_B(b, packed, panel), BLOCK(job, scratch, i, j)     calls of kernels
       MISSING_FEATURE            an expression: whether the CPU lacks something
       TILES                      1 where tile instructions are used, and the kernel must permit them
       SOFT                       1 where soft_tiles.c is linked

   A worker takes panels from a counter until none is left, waits for the others' panels, and then takes blocks of C from
   another counter. The calling thread is a worker too, so a thread that cannot be made costs time and nothing else. */
#include <cpuid.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

struct job {
    const void *a, *b, *bias, *scale;
    void *packed_a, *packed_b, *c;
    char *scratch;
    long panels, next_panel, packed, next_block, workers;
    pthread_mutex_t lock;
    pthread_cond_t ready;
};

#include "product.h"

enum { OK, NULL_POINTER, BAD_THREADS, NO_MEMORY, NO_FEATURE, NO_PERMISSION, BAD_TILE };
enum { MOST_THREADS = 1024, LINE = 64 };

#define PUBLIC __attribute__((visibility("default")))
#define TAKEN(counter) __atomic_fetch_add(&(counter), 1, __ATOMIC_RELAXED)

/* CPUID is slow in virtual machines, so a good answer is kept. */
static int refused(void)
{
    static int good;
    unsigned one[4] = {0}, seven[4] = {0}, more[4] = {0};
    if (__atomic_load_n(&good, __ATOMIC_RELAXED))
        return OK;
    __get_cpuid(1, one, one + 1, one + 2, one + 3);
    __get_cpuid_count(7, 0, seven, seven + 1, seven + 2, seven + 3);
    __get_cpuid_count(7, 1, more, more + 1, more + 2, more + 3);
    if (MISSING_FEATURE)
        return NO_FEATURE;
    /* ARCH_REQ_XCOMP_PERM for XTILEDATA; the answer holds for all threads of the process. */
    if (TILES && syscall(SYS_arch_prctl, 0x1023, 18))
        return NO_PERMISSION;
    __atomic_store_n(&good, 1, __ATOMIC_RELAXED);
    return OK;
}

static void *work(void *given)
{
    struct job *job = given;
    char *scratch = job->scratch + TAKEN(job->workers) * SCRATCH_BYTES;
    long panel, block, done = 0;
    while ((panel = TAKEN(job->next_panel)) < job->panels) {
#if PANELS_A
        if (panel < PANELS_A)
            PACK_A(job, panel);
        else
#endif
            PACK_B(job->b, job->packed_b, panel - PANELS_A);
        done++;
    }
    pthread_mutex_lock(&job->lock);
    job->packed += done;
    if (job->packed == job->panels)
        pthread_cond_broadcast(&job->ready);
    while (job->packed < job->panels)
        pthread_cond_wait(&job->ready, &job->lock);
    pthread_mutex_unlock(&job->lock);
    while ((block = TAKEN(job->next_block)) < (long)BLOCKS_DOWN * BLOCKS_ACROSS) {
#if DOWN_FIRST
        BLOCK(job, scratch, block % BLOCKS_DOWN, block / BLOCKS_DOWN);
#else
        BLOCK(job, scratch, block / BLOCKS_ACROSS, block % BLOCKS_ACROSS);
#endif
    }
    (void)scratch;
    return 0;
}

static int allocated(void **place, size_t bytes)
{
    return !bytes || !posix_memalign(place, LINE, bytes);
}

static int run(struct job *job, int threads)
{
    pthread_t others[MOST_THREADS];
    void *scratch = 0, *packed_a = 0, *packed_b = 0;
    long most = (long)BLOCKS_DOWN * BLOCKS_ACROSS, started = 0;
    int code = NO_MEMORY;
    if (job->panels > most)
        most = job->panels;
    if (threads > most)
        threads = (int)most;
    if (allocated(&scratch, (size_t)threads * SCRATCH_BYTES) && allocated(&packed_a, PACKED_A_BYTES) &&
        (job->packed_b || allocated(&packed_b, PACKED_B_BYTES))) {
        job->scratch = scratch;
        job->packed_a = packed_a;
        if (packed_b)
            job->packed_b = packed_b;
        pthread_mutex_init(&job->lock, 0);
        pthread_cond_init(&job->ready, 0);
        while (started < threads - 1 && !pthread_create(others + started, 0, work, job))
            started++;
        work(job);
        while (started)
            pthread_join(others[--started], 0);
        pthread_cond_destroy(&job->ready);
        pthread_mutex_destroy(&job->lock);
        code = OK;
#if SOFT
        if (soft_tiles_problem())
            code = BAD_TILE;
#endif
    }
    free(packed_b);
    free(packed_a);
    free(scratch);
    return code;
}

static int checked(int missing, int threads)
{
    if (missing)
        return NULL_POINTER;
    if (threads < 1 || threads > MOST_THREADS)
        return BAD_THREADS;
    return refused();
}

PUBLIC int PREFIX()(const void *a, const void *b, void *c MORE_PARAMETERS, int threads)
{
    struct job job = {.a = a, .b = b, .c = c, .panels = PANELS_A + PANELS_B MORE_ARGUMENTS};
    int code = checked(!a || !b || !c MORE_MISSING, threads);
    return code ? code : run(&job, threads);
}

PUBLIC int PREFIX(_prepacked)(const void *a, const void *packed, void *c MORE_PARAMETERS, int threads)
{
    struct job job = {.a = a, .packed_b = (void *)packed, .c = c, .panels = PANELS_A MORE_ARGUMENTS};
    int code = checked(!a || !packed || !c MORE_MISSING, threads);
    return code ? code : run(&job, threads);
}

PUBLIC int PREFIX(_pack)(const void *b, void *packed)
{
    int code = checked(!b || !packed, 1);
    for (long panel = 0; !code && panel < PANELS_B; panel++)
        PACK_B(b, packed, panel);
    return code;
}

PUBLIC size_t PREFIX(_packed_bytes)(void)
{
    return PACKED_B_BYTES;
}

PUBLIC const char *PREFIX(_error)(int code)
{
    static const char *const texts[] = {
        "no error",
        "a pointer is NULL",
        "threads is not a number from 1 to 1024",
        "there is no memory for packed operands",
        "this CPU has not the features that the library was compiled for",
        "the kernel does not permit tile registers (arch_prctl ARCH_REQ_XCOMP_PERM 18)",
        "the code uses a tile that the hardware refuses",
    };
    return code < 0 || code > BAD_TILE ? "unknown code" : texts[code];
}
