/*
 * lanes_reduce.c - reductions of any size and stride, on any number of threads.
 *
 * The tree of blocks is cut into units (lanes_clone.h). Any thread computes the same partial sum
 * for a unit, so threads take units in any order. Strided data are gathered block by block and then
 * summed like contiguous data. The algorithms are at the end.
 */
#include "cpu/kernels.h"

#include "cpu/lanes.h"
#include "cpu/lanes_clone.h"
#include "host/float_mode.h"
#include "host/team.h"

/*
 * Units of one job of the team, a power of two. Their partial sums take 32 KiB of the stack.
 * Starting and ending the job takes at most 10 us of more than 10 ms.
 */
enum { WAVE = 4096 };

typedef struct vectors {
    duo_operation operation;
    duo_lanes_partial unit; /* the clone's function for that operation */
    int64_t n;
    const float *x, *y; /* y is x if the operation has no y */
    int64_t incx, incy;
    int threads;
    int64_t length; /* of a unit, in elements */
} vectors;

static void gather(int64_t count, const float *from, int64_t inc, float *to)
{
    for (int64_t i = 0; i < count; i++) to[i] = from[i * inc];
}

/* The partial sum of `count` elements, at most a unit, from element `first` on. */
static double strided_unit(const vectors *v, int64_t first, int64_t count)
{
    double partial[DUO_UNIT / DUO_BLOCK];
    float x[DUO_BLOCK], y[DUO_BLOCK];
    int partials = 0;
    for (int64_t i = 0; i < count; i += DUO_BLOCK) {
        const int64_t block = count - i < DUO_BLOCK ? count - i : DUO_BLOCK;
        gather(block, v->x + (first + i) * v->incx, v->incx, x);
        if (v->operation == DUO_SDOT) gather(block, v->y + (first + i) * v->incy, v->incy, y);
        const float *const second = v->operation == DUO_SDOT ? y : x;
        partial[partials++] = v->unit(block, x, second);
    }
    return duo_lanes_add_partials(partial, partials);
}

/* Not inline: see float_mode.h. */
static __attribute__((noinline)) double one_unit(const vectors *v, int64_t unit)
{
    const int64_t first = unit * v->length;
    int64_t count = v->n - first < v->length ? v->n - first : v->length;
    if (v->incx != 1 || v->incy != 1) return strided_unit(v, first, count);
    return v->unit(count, v->x + first, v->y + first);
}

typedef struct wave {
    const vectors *v;
    int64_t first;
    double *partial;
} wave;

static void unit_of_wave(void *job, int64_t unit)
{
    const wave *const w = job;
    w->partial[unit] = one_unit(w->v, w->first + unit);
}

/* The partial sum of up to WAVE units, shared by threads. */
static double parallel_wave(const vectors *v, int64_t first, int64_t units)
{
    double partial[WAVE];
    duo_team_run(unit_of_wave, &(wave){v, first, partial}, units, v->threads);
    return duo_lanes_add_partials(partial, units);
}

/*
 * The partial sum of `units` units. In the documented order neighbours are added level by level,
 * and an odd one moves up unchanged. So the last addition is: the largest power of two of units
 * below their number, plus the rest.
 */
static double tree(const vectors *v, int64_t first, int64_t units)
{
    if (units == 1) return one_unit(v, first);
    if (units <= WAVE && v->threads > 1) return parallel_wave(v, first, units);
    int64_t half = 1;
    while (half < units - half) half *= 2;
    const double low = tree(v, first, half);
    return low + tree(v, first + half, units - half);
}

/* Not inline: see float_mode.h. */
static __attribute__((noinline)) float reduce(const vectors *v)
{
    return duo_lanes_round(tree(v, 0, v->n / v->length + (v->n % v->length != 0)));
}

static float reduce_in_fit_mode(const vectors *v)
{
    const float_mode caller = float_mode_enter();
    const float result = reduce(v);
    float_mode_leave(caller);
    return result;
}

/* The length of a unit: each thread gets at least four, so that no thread does much more than
 * another, as long as a unit has more than one block. */
static int64_t unit_length(int64_t n, int threads)
{
    int64_t length = DUO_UNIT;
    while (threads > 1 && length > DUO_BLOCK && n / length < 4 * threads) length /= 2;
    return length;
}

/* Vectors for the functions above: y is x if there is no y; a single element is contiguous. */
static vectors plain_vectors(duo_operation operation, duo_lanes_partial unit, int64_t n,
                             const float *x, int64_t incx, const float *y, int64_t incy,
                             int threads)
{
    if (operation != DUO_SDOT) {
        y = x;
        incy = incx;
    }
    if (n == 1) incx = incy = 1;
    return (vectors){operation, unit, n, x, y, incx, incy, threads, unit_length(n, threads)};
}

float duo_lanes_reduce(duo_operation operation, int64_t n, const float *x, int64_t incx,
                       const float *y, int64_t incy, int threads)
{
    const duo_lanes *const lanes = duo_lanes_current();
    const bool contiguous = incx == 1 && (incy == 1 || operation != DUO_SDOT);
    if (threads == 1 && n <= DUO_UNIT && contiguous) return lanes->whole[operation](n, x, y);
    const vectors v =
        plain_vectors(operation, lanes->unit[operation], n, x, incx, y, incy, threads);
    return reduce_in_fit_mode(&v);
}

float duo_lanes_reduce_float64(duo_operation operation, int64_t n, const float *x, int64_t incx,
                               const float *y, int64_t incy, int threads)
{
    const duo_lanes_partial unit = duo_lanes_current()->unit_float64[operation];
    const vectors v = plain_vectors(operation, unit, n, x, incx, y, incy, threads);
    return reduce_in_fit_mode(&v);
}

/* Not inline: see float_mode.h. */
static __attribute__((noinline)) float add_pieces(double *partial, int64_t count)
{
    return duo_lanes_round(duo_lanes_add_partials(partial, count));
}

float duo_lanes_add_pieces(double *partial, int64_t count)
{
    const float_mode caller = float_mode_enter();
    const float result = add_pieces(partial, count);
    float_mode_leave(caller);
    return result;
}

/* ---- The algorithms ---- */

duo_outcome duo_sasum_cpu_lanes(const duo_call *call)
{
    const duo_operand *const x = &call->operand[DUO_X];
    *call->operand[DUO_RESULT].address =
        duo_lanes_reduce(DUO_SASUM, call->n, x->address, x->ld, NULL, 0, call->threads);
    return DUO_OK;
}

duo_outcome duo_sasum_cpu_float64(const duo_call *call)
{
    const duo_operand *const x = &call->operand[DUO_X];
    *call->operand[DUO_RESULT].address =
        duo_lanes_reduce_float64(DUO_SASUM, call->n, x->address, x->ld, NULL, 0, call->threads);
    return DUO_OK;
}

duo_outcome duo_ssum_cpu_lanes(const duo_call *call)
{
    const duo_operand *const x = &call->operand[DUO_X];
    *call->operand[DUO_RESULT].address =
        duo_lanes_reduce(DUO_SSUM, call->n, x->address, x->ld, NULL, 0, call->threads);
    return DUO_OK;
}

duo_outcome duo_ssum_cpu_float64(const duo_call *call)
{
    const duo_operand *const x = &call->operand[DUO_X];
    *call->operand[DUO_RESULT].address =
        duo_lanes_reduce_float64(DUO_SSUM, call->n, x->address, x->ld, NULL, 0, call->threads);
    return DUO_OK;
}

duo_outcome duo_sdot_cpu_lanes(const duo_call *call)
{
    const duo_operand *const x = &call->operand[DUO_X];
    const duo_operand *const y = &call->operand[DUO_Y];
    *call->operand[DUO_RESULT].address =
        duo_lanes_reduce(DUO_SDOT, call->n, x->address, x->ld, y->address, y->ld, call->threads);
    return DUO_OK;
}

duo_outcome duo_sdot_cpu_float64(const duo_call *call)
{
    const duo_operand *const x = &call->operand[DUO_X];
    const duo_operand *const y = &call->operand[DUO_Y];
    *call->operand[DUO_RESULT].address = duo_lanes_reduce_float64(
        DUO_SDOT, call->n, x->address, x->ld, y->address, y->ld, call->threads);
    return DUO_OK;
}
