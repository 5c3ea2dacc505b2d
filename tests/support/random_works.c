/* random_works.c - works of random programs (random_program.h): where their operands are, and what
 * they do in plain C. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim.h"
#include "support/graph_works.h"
#include "support/graph_world.h"
#include "support/random_program.h"

enum { EDGE = 12, LARGE_EDGE = 40, MOST_SUM = 1 << 24 };

/* ---- Where operands are ---- */

static bool fits(actor *a, const array *v, const choice_of *of)
{
    const bool device = v->place == ON_DEVICE || v->place == ADOPTED; /* or counts as there */
    if (v->x == NULL) return false;
    if (of->graph && (is_kept(v) || v->shared)) return false;
    if (of->half != 0 && !v->shared && (v - a->array) % 2 != of->half - 1) return false;
    const bool there = device && (!on_device(v) || v->device == of->device);
    return of->side < 0 || (of->side == 1 ? there : !device);
}

float *area(actor *a, const choice_of *of, int64_t span, bool written)
{
    for (int try = 0; try < 12; try++) {
        const int shared = written ? 0 : SHARED_ARRAYS;
        const int i = (int)any(a, 0, ARRAYS_EACH + shared - 1);
        array *const v = i < ARRAYS_EACH ? &a->array[i] : &a->program->shared[i - ARRAYS_EACH];
        if (fits(a, v, of) && v->count >= span) return v->x + any(a, 0, v->count - span);
    }
    return NULL;
}

static bool apart(const float *x, int64_t x_span, const float *y, int64_t y_span)
{
    const uintptr_t p = (uintptr_t)x, q = (uintptr_t)y;
    return p + (uintptr_t)x_span * sizeof(float) <= q || q + (uintptr_t)y_span * sizeof(float) <= p;
}

/* Floats that a stored matrix spans. */
static int64_t span_of(duo_layout layout, int64_t rows, int64_t columns, int64_t ld)
{
    const int64_t runs = layout == DUO_COL_MAJOR ? columns : rows;
    const int64_t length = layout == DUO_COL_MAJOR ? rows : columns;
    return rows > 0 && columns > 0 ? (runs - 1) * ld + length : 0;
}

static int64_t any_ld(actor *a, duo_layout layout, int64_t rows, int64_t columns)
{
    const int64_t least = layout == DUO_COL_MAJOR ? rows : columns;
    return (least > 1 ? least : 1) + (one_in(a, 2) ? any(a, 0, 3) : 0);
}

spans any_shape(actor *a, duo_work *v)
{
    const int64_t edge = one_in(a, 8) ? LARGE_EDGE : EDGE, least = one_in(a, 20) ? 0 : 1;
    v->layout = one_in(a, 2) ? DUO_ROW_MAJOR : DUO_COL_MAJOR;
    v->transa = (duo_transpose)any(a, DUO_NO_TRANS, DUO_CONJ_TRANS);
    v->transb = (duo_transpose)any(a, DUO_NO_TRANS, DUO_CONJ_TRANS);
    v->m = any(a, least, edge), v->n = any(a, least, edge), v->k = any(a, least, edge);
    v->alpha = (float)any(a, -1, 2);
    v->beta = one_in(a, 2) ? 0.0f : (float)any(a, -1, 1);
    const bool ta = v->transa != DUO_NO_TRANS, tb = v->transb != DUO_NO_TRANS;
    const int64_t ra = ta ? v->k : v->m, ca = ta ? v->m : v->k, rb = tb ? v->n : v->k,
                  cb = tb ? v->k : v->n;
    v->lda = any_ld(a, v->layout, ra, ca);
    v->ldb = any_ld(a, v->layout, rb, cb);
    v->ldc = any_ld(a, v->layout, v->m, v->n);
    return (spans){span_of(v->layout, ra, ca, v->lda), span_of(v->layout, rb, cb, v->ldb),
                   span_of(v->layout, v->m, v->n, v->ldc)};
}

static bool any_product(actor *a, const choice_of *of, duo_work *v)
{
    const spans s = any_shape(a, v);
    v->a = area(a, of, s.a, false), v->b = area(a, of, s.b, false), v->c = area(a, of, s.c, true);
    return v->a != NULL && v->b != NULL && v->c != NULL && apart(v->c, s.c, v->a, s.a) &&
           apart(v->c, s.c, v->b, s.b);
}

static const float *any_vector(actor *a, const choice_of *of, int64_t n, int64_t inc)
{
    return area(a, of, n > 0 ? (n - 1) * llabs(inc) + 1 : 0, false);
}

static bool any_reduction(actor *a, const choice_of *of, duo_work *v)
{
    const bool dot = v->kind == DUO_WORK_SDOT;
    v->n = one_in(a, 20) ? 0 : any(a, 1, one_in(a, 2) ? 900 : 60);
    v->incx = one_in(a, 2) ? 1 : any(a, dot ? -3 : 0, 3);
    v->incy = one_in(a, 2) ? 1 : any(a, -3, 3);
    v->x = any_vector(a, of, v->n, v->incx);
    v->y = dot ? any_vector(a, of, v->n, v->incy) : NULL;
    v->result = area(a, of, 1, true);
    return v->x != NULL && (!dot || v->y != NULL) && v->result != NULL;
}

bool any_copy(actor *a, const choice_of *from, const choice_of *to, duo_work *v)
{
    const int64_t width = any(a, 1, 300), height = from->graph && one_in(a, 2) ? any(a, 1, 4) : 1;
    const int64_t dp = width + any(a, 0, 9), sp = width + any(a, 0, 9);
    const int64_t ds = (height - 1) * dp + width, ss = (height - 1) * sp + width;
    *v = work_of(DUO_WORK_COPY);
    float *const dst = area(a, to, ds, true);
    const float *const src = area(a, from, ss, false);
    v->dst = dst, v->src = src;
    v->width = (size_t)width * sizeof(float), v->height = (size_t)height;
    v->dst_pitch = (size_t)dp * sizeof(float), v->src_pitch = (size_t)sp * sizeof(float);
    return dst != NULL && src != NULL && apart(dst, ds, src, ss);
}

static bool any_setting(actor *a, const choice_of *of, duo_work *v)
{
    const int64_t width = any(a, 1, 200);
    v->dst = area(a, of, width, true);
    v->width = (size_t)width * sizeof(float), v->height = 1;
    return v->dst != NULL;
}

static bool any_conversion(actor *a, const choice_of *of, duo_work *v)
{
    const int64_t count = any(a, 1, 100);
    conversion *const c = v->user;
    *c = (conversion){area(a, of, count, false), area(a, of, count, true), any(a, 0, 9), count};
    v->function = world_convert;
    return c->from != NULL && c->to != NULL;
}

bool any_work(actor *a, duo_work_kind kind, const choice_of *of, duo_work *work)
{
    void *const user = work->user;
    *work = work_of(kind);
    work->math = (duo_math)any(a, DUO_MATH_ACCURATE, DUO_MATH_FLOAT64);
    work->user = kind == DUO_WORK_HOST ? user : NULL;
    if (kind == DUO_WORK_SGEMM) return any_product(a, of, work);
    if (work_reduces(kind)) return any_reduction(a, of, work);
    if (kind == DUO_WORK_COPY) return any_copy(a, of, of, work);
    if (kind == DUO_WORK_SET) return any_setting(a, of, work);
    return kind != DUO_WORK_HOST || any_conversion(a, of, work);
}

/* ---- The same in plain C ---- */

int named(actor *a, const duo_work *v, array *list[4])
{
    const conversion *const c = v->function == world_convert ? v->user : NULL;
    const void *const at[] = {v->c, v->result, v->dst, c != NULL ? c->to : NULL,  v->a, v->b,
                              v->x, v->y,      v->src, c != NULL ? c->from : NULL};
    int count = 0;
    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
        array *const of = at[i] != NULL ? array_around(a, at[i]) : NULL;
        bool old = of == NULL;
        for (int j = 0; j < count; j++) old |= list[j] == of;
        if (!old) list[count++] = of;
    }
    return count;
}

void stash(array *v) { memcpy(v->stash, v->truth, (size_t)v->count * sizeof(float)); }
void unstash(array *v) { memcpy(v->truth, v->stash, (size_t)v->count * sizeof(float)); }

/* Is the sum exact in any order? */
static bool exact(const duo_work *v)
{
    double sum = 0.0;
    for (int64_t i = 0; i < v->n; i++) {
        const bool dot = v->kind == DUO_WORK_SDOT;
        if (!dot && v->incx <= 0) return true;
        const double x = v->x[(v->incx >= 0 ? i : i - (v->n - 1)) * v->incx];
        sum += dot ? fabs(x * v->y[(v->incy >= 0 ? i : i - (v->n - 1)) * v->incy]) : fabs(x);
    }
    return sum <= MOST_SUM;
}

bool imagine(actor *a, const duo_work *work)
{
    duo_work v = *work;
    conversion c;
    const array *const out = array_around(a, v.c != NULL        ? v.c
                                             : v.result != NULL ? v.result
                                                                : v.dst);
    v.a = image_of(a, v.a), v.b = image_of(a, v.b), v.c = image_of(a, v.c);
    v.x = image_of(a, v.x), v.y = image_of(a, v.y), v.result = image_of(a, v.result);
    v.dst = image_of(a, v.dst), v.src = image_of(a, v.src);
    if (v.function == world_convert) {
        c = *(const conversion *)v.user;
        c.from = image_of(a, c.from), c.to = image_of(a, c.to);
        v.user = &c;
    }
    if (work_reduces(v.kind) && !exact(&v)) return false;
    work_do(&v);
    for (int64_t i = 0; out != NULL && i < out->count; i++)
        if (!(fabsf(out->truth[i]) <= MOST_VALUE)) return false;
    return true;
}
