/* The tile intrinsics of x86 in plain C: what a CPU without AMX runs instead (see rewriting.py).

   A tile is 16 rows of 64 bytes, whatever its shape: what lies outside of the shape is zero. The order of the sums, the
   flushing of subnormal numbers and the limits are those of the Intel 64 and IA-32 Software Developer's Manual, volume 2,
   TDPBF16PS, TDPFP16PS and TDPBSSD. By hand: with c = 1 and the products 2^24, -2^24 in one word the result is 1, since the
   even and the odd products are added up apart and first to each other.

   Shapes are as LLVM passes them: rows, then bytes of a row; of a product m rows, n bytes of a row of C, k bytes of a row of
   A. What the hardware refuses with an exception is remembered as a text and computes nothing: soft_tiles_problem() returns
   the first one and forgets it. */
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { ROWS = 16, ROW_BYTES = 64, TILE_BYTES = ROWS * ROW_BYTES };

typedef int16_t size;
typedef uint8_t byte;

static const char *problem;

__attribute__((visibility("default"))) const char *soft_tiles_problem(void)
{
    return __atomic_exchange_n(&problem, (const char *)0, __ATOMIC_RELAXED);
}

static int refused(const char *reason)
{
    const char *none = 0;
    __atomic_compare_exchange_n(&problem, &none, reason, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return 1;
}

static int bad_shape(size rows, size bytes)
{
    if (rows < 1 || rows > ROWS)
        return refused("a tile has 1 to 16 rows");
    if (bytes < 1 || bytes > ROW_BYTES)
        return refused("a row of a tile has 1 to 64 bytes");
    return 0;
}

static int bad_product(size m, size n, size k)
{
    if (n % 4 || k % 4)
        return refused("the rows of the tiles of a product are whole words of 4 bytes");
    return bad_shape(m, n) || bad_shape(m, k) || bad_shape(k / 4, n);
}

void soft_tilezero(byte *tile, size rows, size bytes)
{
    memset(tile, 0, TILE_BYTES);
    bad_shape(rows, bytes);
}

void soft_tileloadd64(byte *tile, size rows, size bytes, const byte *from, int64_t stride)
{
    memset(tile, 0, TILE_BYTES);
    if (bad_shape(rows, bytes))
        return;
    for (int r = 0; r < rows; r++)
        memcpy(tile + r * ROW_BYTES, from + r * stride, (size_t)bytes);
}

void soft_tilestored64(size rows, size bytes, byte *to, int64_t stride, const byte *tile)
{
    if (bad_shape(rows, bytes))
        return;
    for (int r = 0; r < rows; r++)
        memcpy(to + r * stride, tile + r * ROW_BYTES, (size_t)bytes);
}

static float of_bits(uint32_t bits)
{
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

/* Subnormal numbers become zeros of their sign. */
static float flushed(float number)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return of_bits(bits & 0x7f800000u ? bits : bits & 0x80000000u);
}

/* A fused step. A sum is tiny after it is rounded to 24 bits, whatever its exponent: fmaf rounds what is below 2^-126 to a
   multiple of 2^-149, and so up to 2^-126 where the CPU has 2^-126 - 2^-150 or less, and flushes it. */
static float fused(float a, float b, float c)
{
    float sum = fmaf(a, b, c);
    if (fabsf(sum) == 0x1p-126f && fabs((double)a * b + c) < 0x1p-126 - 0x1p-151)
        return copysignf(0, sum);
    return flushed(sum);
}

/* A fused step of 16 sums; the exact one again where a sum is 2^-126, which is rare. */
static void fused_row(float *sums, float left, const float *right)
{
    float after[16];
    int near = 0;
    for (int col = 0; col < 16; col++) {
        float sum = fmaf(left, right[col], sums[col]);
        near |= fabsf(sum) == 0x1p-126f;
        after[col] = flushed(sum);
    }
    for (int col = 0; near && col < 16; col++)
        after[col] = fused(left, right[col], sums[col]);
    memcpy(sums, after, sizeof after);
}

static float of_bf16(uint16_t bits) { return flushed(of_bits((uint32_t)bits << 16)); }

/* Every f16 is a normal f32, its subnormal numbers too. */
static float of_f16(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000u) << 16, exponent = bits >> 10 & 31, fraction = bits & 1023;
    if (exponent == 31)
        return of_bits(sign | 0x7f800000u | fraction << 13);
    if (exponent)
        return of_bits(sign | (exponent + 112) << 23 | fraction << 13);
    return of_bits(sign) + (sign ? -1.0f : 1.0f) * ldexpf((float)fraction, -24);
}

/* Words of two numbers, the even ones in the first half of the result and the odd ones in the second. */
static void numbers(float *to, const byte *tile, int rows, int words, float (*read)(uint16_t))
{
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < 2 * words; i++) {
            uint16_t bits;
            memcpy(&bits, tile + r * ROW_BYTES + 2 * i, sizeof bits);
            to[r * 32 + i % 2 * 16 + i / 2] = read(bits);
        }
}

static void float_product(byte *result, size m, size n, size k, const byte *c, const byte *a, const byte *b,
                          float (*read)(uint16_t))
{
    float left[ROWS * 32] = {0}, right[ROWS * 32] = {0}, sums[ROWS * 16] = {0};
    if (bad_product(m, n, k)) {
        memset(result, 0, TILE_BYTES);
        return;
    }
    numbers(left, a, m, k / 4, read);
    numbers(right, b, k / 4, n / 4, read);
    for (int row = 0; row < m; row++) {
        float even[16] = {0}, odd[16] = {0}, before[16];
        for (int word = 0; word < k / 4; word++) {
            fused_row(even, left[row * 32 + word], right + word * 32);
            fused_row(odd, left[row * 32 + 16 + word], right + word * 32 + 16);
        }
        memcpy(before, c + row * ROW_BYTES, ROW_BYTES);
        for (int col = 0; col < n / 4; col++)
            sums[row * 16 + col] = flushed(flushed(before[col]) + flushed(even[col] + odd[col]));
    }
    memcpy(result, sums, TILE_BYTES);
}

#define FLOAT_PRODUCT(name, read)                                                                                   \
    void soft_##name(byte *result, size m, size n, size k, const byte *c, const byte *a, const byte *b)             \
    {                                                                                                               \
        float_product(result, m, n, k, c, a, b, read);                                                              \
    }

FLOAT_PRODUCT(tdpbf16ps, of_bf16)
FLOAT_PRODUCT(tdpfp16ps, of_f16)

/* Words of four numbers of 8 bits; sums are exact modulo 2^32. */
static void integer_product(byte *result, size m, size n, size k, const byte *c, const byte *a, const byte *b,
                            int a_signed, int b_signed)
{
    uint32_t sums[ROWS * 16] = {0};
    int32_t right[4 * 16];
    if (bad_product(m, n, k)) {
        memset(result, 0, TILE_BYTES);
        return;
    }
    for (int row = 0; row < m; row++)
        memcpy(sums + row * 16, c + row * ROW_BYTES, (size_t)n);
    for (int word = 0; word < k / 4; word++) {
        for (int i = 0; i < n; i++) {
            byte bits = b[word * ROW_BYTES + i];
            right[i % 4 * 16 + i / 4] = b_signed ? (int8_t)bits : bits;
        }
        for (int row = 0; row < m; row++)
            for (int i = 0; i < 4; i++) {
                byte bits = a[row * ROW_BYTES + 4 * word + i];
                int32_t left = a_signed ? (int8_t)bits : bits;
                for (int col = 0; col < n / 4; col++)
                    sums[row * 16 + col] += (uint32_t)(left * right[i * 16 + col]);
            }
    }
    memcpy(result, sums, TILE_BYTES);
}

#define INTEGER_PRODUCT(name, a_signed, b_signed)                                                                   \
    void soft_##name(byte *result, size m, size n, size k, const byte *c, const byte *a, const byte *b)             \
    {                                                                                                               \
        integer_product(result, m, n, k, c, a, b, a_signed, b_signed);                                              \
    }

INTEGER_PRODUCT(tdpbssd, 1, 1)
INTEGER_PRODUCT(tdpbsud, 1, 0)
INTEGER_PRODUCT(tdpbusd, 0, 1)
INTEGER_PRODUCT(tdpbuud, 0, 0)
