/* The C side of a library that a plan builds: it checks, allocates, packs, and lets threads share out the blocks of C.

   product.h comes before this file in the same directory; `building.py` writes it. It has the sizes of the plan as macros, and
   the prototypes of the kernels that LLVM compiled:

       PREFIX(x)                  the public name with x behind it
       BATCH                      products, one behind the other; A_BYTES, B_BYTES, C_BYTES from one matrix to the next
       MOST_ROWS, GIVEN_ROWS      the rows of A and C that are planned, and those of a call
       PANELS_A(rows), PANELS_B   panels of a product to be packed
       PACKS_A                    0 where A is loaded as it lies
       PACKED_A_BYTES, PACKED_B_BYTES, SCRATCH_BYTES     the buffers of a product, multiples of 64
       BLOCKS_DOWN(rows), BLOCKS_ACROSS     blocks of C; DOWN_FIRST whether neighbours in the walk lie below one another
       MORE_PARAMETERS, MORE_NAMES, MORE_ARGUMENTS, MORE_MISSING
                                  the bias, the scales and the number of rows of the public functions
       PACK_A(a, packed, panel), PACK_B(b, packed, panel), BLOCK(job, scratch, z, i, j)     calls of kernels
       MISSING_FEATURE            an expression: whether the CPU lacks something
       TILES                      1 where tile instructions are used, and the kernel must permit them
       SOFT                       1 where soft_tiles.c is linked

   Packed operands and scratches lie in one workspace, which the caller may keep between calls.

   A worker takes panels from a counter until none is left, waits for the others' panels, and then takes blocks of C from
   another counter. The calling thread is a worker too, so a thread that cannot be made costs time and nothing else. */
#include <cpuid.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

struct job {
    const char *a, *b;
    const void *bias, *scale, *row_scale, *column_scale;
    char *packed_a, *packed_b, *c, *scratch;
    long rows, panels, panels_each, next_panel, packed, next_block, workers;
    pthread_mutex_t lock;
    pthread_cond_t ready;
};

#include "product.h"

enum { OK, NULL_POINTER, BAD_THREADS, NO_MEMORY, NO_FEATURE, NO_PERMISSION, BAD_TILE, BAD_ROWS };
enum { MOST_THREADS = 1024, LINE = 64 };
#define BLOCKS(rows) ((long)BLOCKS_DOWN(rows) * BLOCKS_ACROSS)

#define PUBLIC __attribute__((visibility("default")))
#define TAKEN(counter) __atomic_fetch_add(&(counter), 1, __ATOMIC_RELAXED)

/* CPUID is slow in virtual machines, so a good answer is kept. */
static int layoutalg_refused(void)
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

static void *layoutalg_work(void *given)
{
    struct job *job = given;
    char *scratch = job->scratch + TAKEN(job->workers) * SCRATCH_BYTES;
    const long down = BLOCKS_DOWN(job->rows), blocks = down * BLOCKS_ACROSS;
    long panel, block, z, done = 0;
    while ((panel = TAKEN(job->next_panel)) < job->panels) {
        z = panel / job->panels_each;
        panel %= job->panels_each;
#if PACKS_A
        if (panel < PANELS_A(job->rows))
            PACK_A(job->a + z * A_BYTES, job->packed_a + z * PACKED_A_BYTES, panel, job->rows);
        else
#endif
            PACK_B(job->b + z * B_BYTES, job->packed_b + z * PACKED_B_BYTES, panel - PANELS_A(job->rows));
        done++;
    }
    pthread_mutex_lock(&job->lock);
    job->packed += done;
    if (job->packed == job->panels)
        pthread_cond_broadcast(&job->ready);
    while (job->packed < job->panels)
        pthread_cond_wait(&job->ready, &job->lock);
    pthread_mutex_unlock(&job->lock);
    while ((block = TAKEN(job->next_block)) < BATCH * blocks) {
        z = block / blocks;
        block %= blocks;
#if DOWN_FIRST
        BLOCK(job, scratch, z, block % down, block / down);
#else
        BLOCK(job, scratch, z, block / BLOCKS_ACROSS, block % BLOCKS_ACROSS);
#endif
    }
    (void)scratch;
    return 0;
}

/* More workers than panels or blocks would be idle. */
static long layoutalg_workers(const struct job *job, int threads)
{
    long most = BATCH * BLOCKS(job->rows);
    if (job->panels > most)
        most = job->panels;
    return threads < most ? threads : most;
}

static size_t layoutalg_workspace(const struct job *job, int threads)
{
    size_t bytes = BATCH * PACKED_A_BYTES + (size_t)layoutalg_workers(job, threads) * SCRATCH_BYTES;
    return bytes + (job->packed_b ? 0 : BATCH * PACKED_B_BYTES);
}

static int layoutalg_run(struct job *job, void *given, int threads)
{
    pthread_t others[MOST_THREADS];
    void *made = 0;
    char *place = given;
    long started = 0;
    size_t bytes = layoutalg_workspace(job, threads);
    if (!given && bytes) {
        if (posix_memalign(&made, LINE, bytes))
            return NO_MEMORY;
        place = made;
    } else if (given) {
        place += -(uintptr_t)place % LINE;
    }
    threads = (int)layoutalg_workers(job, threads);
    job->packed_a = place;
    place += BATCH * PACKED_A_BYTES;
    if (!job->packed_b) {
        job->packed_b = place;
        place += BATCH * PACKED_B_BYTES;
    }
    job->scratch = place;
    pthread_mutex_init(&job->lock, 0);
    pthread_cond_init(&job->ready, 0);
    while (started < threads - 1 && !pthread_create(others + started, 0, layoutalg_work, job))
        started++;
    layoutalg_work(job);
    while (started)
        pthread_join(others[--started], 0);
    pthread_cond_destroy(&job->ready);
    pthread_mutex_destroy(&job->lock);
    free(made);
#if SOFT
    if (soft_tiles_problem())
        return BAD_TILE;
#endif
    return OK;
}

static int layoutalg_checked(int missing, long rows, int threads)
{
    if (missing)
        return NULL_POINTER;
    if (threads < 1 || threads > MOST_THREADS)
        return BAD_THREADS;
    if (rows < 1 || rows > MOST_ROWS)
        return BAD_ROWS;
    return layoutalg_refused();
}

#define EACH(given, packs_b)                                                                                          \
    .rows = (given), .panels = BATCH * (PANELS_A(given) + (packs_b)*PANELS_B),                                        \
    .panels_each = PANELS_A(given) + (packs_b)*PANELS_B

static int layoutalg_product(const void *a, const void *b, void *c MORE_PARAMETERS, void *given, int threads)
{
    int code = layoutalg_checked(!a || !b || !c MORE_MISSING, GIVEN_ROWS, threads);
    if (code)
        return code;
    struct job job = {.a = a, .b = b, .c = c, EACH(GIVEN_ROWS, 1) MORE_ARGUMENTS};
    return layoutalg_run(&job, given, threads);
}

static int layoutalg_prepacked(const void *a, const void *packed, void *c MORE_PARAMETERS, void *given, int threads)
{
    int code = layoutalg_checked(!a || !packed || !c MORE_MISSING, GIVEN_ROWS, threads);
    if (code)
        return code;
    struct job job = {.a = a, .packed_b = (char *)packed, .c = c, EACH(GIVEN_ROWS, 0) MORE_ARGUMENTS};
    return layoutalg_run(&job, given, threads);
}

PUBLIC int PREFIX()(const void *a, const void *b, void *c MORE_PARAMETERS, int threads)
{
    return layoutalg_product(a, b, c MORE_NAMES, 0, threads);
}

PUBLIC int PREFIX(_in)(const void *a, const void *b, void *c MORE_PARAMETERS, void *workspace, int threads)
{
    return workspace ? layoutalg_product(a, b, c MORE_NAMES, workspace, threads) : NULL_POINTER;
}

PUBLIC int PREFIX(_prepacked)(const void *a, const void *packed, void *c MORE_PARAMETERS, int threads)
{
    return layoutalg_prepacked(a, packed, c MORE_NAMES, 0, threads);
}

PUBLIC int PREFIX(_prepacked_in)(const void *a, const void *packed, void *c MORE_PARAMETERS, void *workspace, int threads)
{
    return workspace ? layoutalg_prepacked(a, packed, c MORE_NAMES, workspace, threads) : NULL_POINTER;
}

PUBLIC size_t PREFIX(_workspace_bytes)(int threads)
{
    struct job job = {EACH(MOST_ROWS, 1)};
    return threads < 1 || threads > MOST_THREADS ? 0 : layoutalg_workspace(&job, threads) + LINE;
}

PUBLIC int PREFIX(_pack)(const void *b, void *packed)
{
    int code = layoutalg_checked(!b || !packed, MOST_ROWS, 1);
    for (long z = 0; !code && z < BATCH; z++)
        for (long panel = 0; panel < PANELS_B; panel++)
            PACK_B((const char *)b + z * B_BYTES, (char *)packed + z * PACKED_B_BYTES, panel);
    return code;
}

PUBLIC size_t PREFIX(_packed_bytes)(void)
{
    return BATCH * PACKED_B_BYTES;
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
        "rows is not a number from 1 to as many as are planned",
    };
    return code < 0 || code > BAD_ROWS ? "unknown code" : texts[code];
}
