/*
 * sgemm_cpu_plain.c - sgemm in plain C: any size, any leading dimension, no other library.
 *
 * C is cut into tiles of 64 x 32, each a piece for the team. For each 256 steps of k, a tile of
 * op(A) and one of op(B) are packed with contiguous columns, and columns of A are added to the sums
 * of C's tile on the stack. Products and sums are in binary32. Nothing is skipped, so a NaN or an
 * Inf reaches C. Loops that pack less compute tiny products (sgemm_loops.c), with the same bits.
 */
#include <string.h>

#include "cpu/kernels.h"
#include "cpu/sgemm_tiles.h"
#include "host/team.h"

enum { TILE_M = DUO_PLAIN_ROWS, TILE_N = DUO_PLAIN_COLUMNS, TILE_K = 256 };

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* packed[i + p * TILE_M] := op(A)(i, p); rows beyond m are zero */
static void pack_a(const duo_call *call, int64_t i0, int64_t p0, int64_t m, int64_t k,
                   float *packed)
{
    const duo_operand *const a = &call->operand[DUO_A];
    const int64_t row = call->transa ? a->ld : 1, column = call->transa ? 1 : a->ld;
    const float *const from = a->address + i0 * row + p0 * column;
    for (int64_t p = 0; p < k; p++) {
        for (int64_t i = 0; i < m; i++) packed[i + p * TILE_M] = from[i * row + p * column];
        for (int64_t i = m; i < TILE_M; i++) packed[i + p * TILE_M] = 0.0f;
    }
}

/* packed[p + j * TILE_K] := op(B)(p, j) */
static void pack_b(const duo_call *call, int64_t p0, int64_t j0, int64_t k, int64_t n,
                   float *packed)
{
    const duo_operand *const b = &call->operand[DUO_B];
    const int64_t row = call->transb ? b->ld : 1, column = call->transb ? 1 : b->ld;
    const float *const from = b->address + p0 * row + j0 * column;
    for (int64_t j = 0; j < n; j++)
        for (int64_t p = 0; p < k; p++) packed[p + j * TILE_K] = from[p * row + j * column];
}

static void tile(const duo_call *call, int64_t i0, int64_t j0)
{
    float a[TILE_M * TILE_K], b[TILE_K * TILE_N], sum[TILE_M * TILE_N];
    const duo_operand *const c = &call->operand[DUO_C];
    const int64_t m = smaller(call->m - i0, TILE_M), n = smaller(call->n - j0, TILE_N);
    memset(sum, 0, sizeof sum);
    for (int64_t p0 = 0; p0 < call->k; p0 += TILE_K) {
        const int64_t k = smaller(call->k - p0, TILE_K);
        pack_a(call, i0, p0, m, k, a);
        pack_b(call, p0, j0, k, n, b);
        for (int64_t j = 0; j < n; j++)
            for (int64_t p = 0; p < k; p++) {
                const float factor = b[p + j * TILE_K];
                for (int i = 0; i < TILE_M; i++) sum[i + j * TILE_M] += a[i + p * TILE_M] * factor;
            }
    }
    for (int64_t j = 0; j < n; j++) {
        float *const to = c->address + i0 + (j0 + j) * c->ld;
        for (int64_t i = 0; i < m; i++) {
            const float part = call->alpha * sum[i + j * TILE_M];
            to[i] = call->beta == 0.0f ? part : part + call->beta * to[i];
        }
    }
}

static void piece(void *job, int64_t number)
{
    const duo_call *const call = job;
    const int64_t down = (call->m + TILE_M - 1) / TILE_M;
    tile(call, number % down * TILE_M, number / down * TILE_N);
}

duo_outcome duo_sgemm_cpu_plain(const duo_call *call)
{
    const duo_operand *const a = &call->operand[DUO_A], *const b = &call->operand[DUO_B],
                             *const c = &call->operand[DUO_C];
    if (!a->read) return duo_sgemm_scale(call);
    if (duo_sgemm_suits_loops(call->m, call->n, call->k)) {
        duo_sgemm_loops(call->transa, call->transb, call->m, call->n, call->k, call->alpha,
                        a->address, a->ld, b->address, b->ld, call->beta, c->address, c->ld);
        return DUO_OK;
    }
    const int64_t down = (call->m + TILE_M - 1) / TILE_M, across = (call->n + TILE_N - 1) / TILE_N;
    duo_team_run(piece, (void *)(uintptr_t)call, down * across, call->threads); /* only read */
    return DUO_OK;
}
