// Tile products on a CPU that has AMX: for each of `count` triples of tiles, C += A * B in tile registers.
// A has `rows` rows of `words` 4-byte words, B `words` rows of `cols` words (packed), C `rows` rows of `cols` words.
#include <immintrin.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };

// Linux gives tile registers to processes that ask for them. 0 where it does.
int amx_ask(void) { return (int)syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA); }

struct configuration {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} __attribute__((packed));

#define PRODUCTS(instruction)                                                 \
    for (long i = 0; i < count; ++i) {                                        \
        _tile_loadd(0, c + i * rows * cols, cols * 4);                        \
        _tile_loadd(1, a + i * rows * words, words * 4);                      \
        _tile_loadd(2, b + i * words * cols, cols * 4);                       \
        instruction(0, 1, 2);                                                 \
        _tile_stored(0, c + i * rows * cols, cols * 4);                       \
    }

int amx_products(const char *instruction, long count, int rows, int words, int cols, const uint32_t *a,
                 const uint32_t *b, uint32_t *c) {
    struct configuration shape;
    memset(&shape, 0, sizeof shape);
    shape.palette = 1;
    shape.rows[0] = rows, shape.row_bytes[0] = cols * 4;
    shape.rows[1] = rows, shape.row_bytes[1] = words * 4;
    shape.rows[2] = words, shape.row_bytes[2] = cols * 4;
    _tile_loadconfig(&shape);
    int known = 1;
    if (!strcmp(instruction, "tdpbf16ps")) { PRODUCTS(_tile_dpbf16ps) }
    else if (!strcmp(instruction, "tdpbssd")) { PRODUCTS(_tile_dpbssd) }
    else if (!strcmp(instruction, "tdpbsud")) { PRODUCTS(_tile_dpbsud) }
    else if (!strcmp(instruction, "tdpbusd")) { PRODUCTS(_tile_dpbusd) }
    else if (!strcmp(instruction, "tdpbuud")) { PRODUCTS(_tile_dpbuud) }
    else known = 0;
    _tile_release();
    return known;
}

// A tile through a register: rows of `row_bytes` bytes, from rows `from_stride` bytes apart to rows `to_stride` bytes apart.
void amx_copy(int rows, int row_bytes, const uint8_t *from, long from_stride, uint8_t *to, long to_stride) {
    struct configuration shape;
    memset(&shape, 0, sizeof shape);
    shape.palette = 1, shape.rows[0] = rows, shape.row_bytes[0] = row_bytes;
    _tile_loadconfig(&shape);
    _tile_loadd(0, from, from_stride);
    _tile_stored(0, to, to_stride);
    _tile_release();
}
