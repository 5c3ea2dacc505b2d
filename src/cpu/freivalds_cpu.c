/*
 * freivalds_cpu.c - see freivalds_cpu.h
 *
 * A piece is some rows of one matrix. Rows that are contiguous in memory across columns are added
 * column by column; a row that is itself contiguous is one sum.
 */
#include "cpu/freivalds_cpu.h"

#include <stddef.h>

#include "host/team.h"

enum { PIECE = 256 }; /* rows */

/* A part of a product: some rows of one matrix, with that matrix's vectors. */
typedef struct part {
    const float *x;
    int64_t ld, rows, columns;
    const double *by, *by_magnitude, *by_largest;
    uint64_t seed;
    double least;
    double *sum, *magnitude, *largest;
} part;

static void add(double *sum, double *magnitude, float x, double by, double by_magnitude,
                double least)
{
    const double here = x;
    *sum += here * by;
    *magnitude += (fabs(here) + least) * by_magnitude;
}

/* Keeps a NaN. */
static void take_larger(double *largest, float x, double least)
{
    const double here = fabs((double)x) + least;
    if (!(here <= *largest)) *largest = here;
}

/* The columns of X are contiguous. */
static void add_columns(const part *p)
{
    const float *x = p->x;
    for (int64_t j = 0; j < p->columns; j++, x += p->ld) {
        const bool first = p->by == NULL;
        const double by = first ? duo_freivalds_sign(p->seed, j) : p->by[j];
        const double by_magnitude = first ? 1.0 : p->by_magnitude[j];
        for (int64_t i = 0; i < p->rows; i++)
            add(&p->sum[i], &p->magnitude[i], x[i], by, by_magnitude, p->least);
        if (p->largest == NULL) continue;
        for (int64_t i = 0; i < p->rows && first; i++) take_larger(&p->largest[i], x[i], p->least);
        for (int64_t i = 0; i < p->rows && !first; i++)
            p->largest[i] += (fabs((double)x[i]) + p->least) * p->by_largest[j];
    }
}

/* X is stored transposed: its rows are contiguous. */
static void add_rows(const part *p)
{
    enum { SOME = 512 };
    double sign[SOME], one[SOME];
    const bool first = p->by == NULL;
    for (int64_t from = 0; from < p->columns; from += SOME) {
        const int64_t left = p->columns - from, some = left < SOME ? left : SOME;
        for (int64_t j = 0; j < some && first; j++) {
            sign[j] = duo_freivalds_sign(p->seed, from + j);
            one[j] = 1.0;
        }
        const double *const by = first ? sign : p->by + from;
        const double *const by_magnitude = first ? one : p->by_magnitude + from;
        for (int64_t i = 0; i < p->rows; i++) {
            const float *const x = p->x + i * p->ld + from;
            for (int64_t j = 0; j < some; j++)
                add(&p->sum[i], &p->magnitude[i], x[j], by[j], by_magnitude[j], p->least);
            if (p->largest == NULL) continue;
            for (int64_t j = 0; j < some && first; j++) take_larger(&p->largest[i], x[j], p->least);
            for (int64_t j = 0; j < some && !first; j++)
                p->largest[i] += (fabs((double)x[j]) + p->least) * p->by_largest[from + j];
        }
    }
}

static void do_piece(void *job, int64_t piece)
{
    const duo_freivalds_product *const p = job;
    const int64_t pieces = (p->rows + PIECE - 1) / PIECE; /* of a matrix */
    const int64_t matrix = piece / pieces, from = piece % pieces * PIECE;
    const int64_t in = matrix * p->columns, out = matrix * p->rows + from;
    const bool first = p->by == NULL, largest = p->largest != NULL;
    const part of = {.x = p->x + matrix * p->stride + from * (p->trans ? p->ld : 1),
                     .ld = p->ld,
                     .rows = p->rows - from < PIECE ? p->rows - from : PIECE,
                     .columns = p->columns,
                     .by = first ? NULL : p->by + in,
                     .by_magnitude = first ? NULL : p->by_magnitude + in,
                     .by_largest = first || !largest ? NULL : p->by_largest + in,
                     .seed = p->seed,
                     .least = p->least,
                     .sum = p->sum + out,
                     .magnitude = p->magnitude + out,
                     .largest = largest ? p->largest + out : NULL};
    for (int64_t i = 0; i < of.rows; i++) of.sum[i] = of.magnitude[i] = 0.0;
    for (int64_t i = 0; i < of.rows && largest; i++) of.largest[i] = 0.0;
    (p->trans ? add_rows : add_columns)(&of);
}

void duo_freivalds_cpu_multiply(const duo_freivalds_product *p, int threads)
{
    const int64_t pieces = (p->rows + PIECE - 1) / PIECE * p->count;
    duo_team_run(do_piece, (void *)(uintptr_t)p, pieces, threads);
}

int64_t duo_freivalds_cpu_wrong(const duo_freivalds_rows *rows)
{
    int64_t wrong = 0;
    for (int64_t i = 0; i < rows->rows; i++) wrong += !duo_freivalds_right(rows, i);
    return wrong;
}
