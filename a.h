/* C[64, 64] f32 = A[64, 64] bf16 * B[64, 64] bf16 on amx

   All matrices are row-major:
     a       A[64, 64], bfloat16 (the upper half of a float); a row begins 64 elements behind the one before
     b       B[64, 64], bfloat16 (the upper half of a float); a row begins 64 elements behind the one before
     c       C[64, 64], float; a row begins 64 elements behind the one before
   Elements have the alignment of their type; 64 bytes are faster. C may not overlap with what is read.

   The library needs x86-64 Linux and a CPU with amx-tile, amx-bf16, avx2, fma, f16c, avx512f, avx512bw, avx512dq, avx512vl; a call checks it, and the first one asks the kernel for tile registers.
   `threads` is how many threads work, the calling one included: 1 to 1024. Calls from several threads are safe.
   gemm_pack puts B into the order that tiles are loaded in, gemm_packed_bytes() bytes; gemm_prepacked takes
   that, so that B is packed once for many products.

   Functions return 0 or a code, and gemm_error says what it means:
     1  a pointer is NULL
     2  threads is not a number from 1 to 1024
     3  there is no memory for packed operands
     4  this CPU has not the features that the library was compiled for
     5  the kernel does not permit tile registers
     6  a tile has a size that the hardware refuses (soft tiles only) */
#ifndef LAYOUTALG_GEMM_H
#define LAYOUTALG_GEMM_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

int gemm(const void *a, const void *b, void *c, int threads);
int gemm_prepacked(const void *a, const void *packed, void *c, int threads);
int gemm_pack(const void *b, void *packed);
size_t gemm_packed_bytes(void);
const char *gemm_error(int code);

#ifdef __cplusplus
}
#endif
#endif
