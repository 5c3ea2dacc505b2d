/* sgemm_scale.c - C := beta C, by pieces for the team (kernels.h). */
#include "cpu/kernels.h"

#include <string.h>

#include "host/team.h"

enum { PIECE = 1 << 15 }; /* elements, at most: 128 KB take some microseconds */

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* C in pieces of rows x columns, `down` of them below each other: whole columns if they fit. */
typedef struct cut {
    int64_t rows, columns, down, across;
} cut;

static cut cut_of(int64_t m, int64_t n)
{
    const int64_t rows = smaller(m, PIECE), columns = smaller(n, PIECE / rows);
    return (cut){rows, columns, (m - 1) / rows + 1, (n - 1) / columns + 1};
}

int64_t duo_sgemm_scale_pieces(int64_t m, int64_t n)
{
    const cut c = cut_of(m, n);
    return c.down * c.across;
}

static void scale(float *c, int64_t count, float beta)
{
    if (beta == 0.0f) {
        memset(c, 0, (size_t)count * sizeof *c);
        return;
    }
    for (int64_t i = 0; i < count; i++) c[i] = duo_one_nan(beta * c[i]);
}

static void piece(void *job, int64_t number)
{
    const duo_call *const call = job;
    const duo_operand *const c = &call->operand[DUO_C];
    const cut p = cut_of(call->m, call->n);
    const int64_t i = number % p.down * p.rows, first = number / p.down * p.columns;
    const int64_t rows = smaller(p.rows, call->m - i), end = smaller(first + p.columns, call->n);
    float *const from = c->address + i;
    if (c->ld == rows) { /* without gaps */
        scale(from + first * rows, (end - first) * rows, call->beta);
        return;
    }
    for (int64_t j = first; j < end; j++) scale(from + j * c->ld, rows, call->beta);
}

duo_outcome duo_sgemm_scale(const duo_call *call)
{
    void *const job = (void *)(uintptr_t)call; /* only read */
    duo_team_run(piece, job, duo_sgemm_scale_pieces(call->m, call->n), call->threads);
    return DUO_OK;
}
