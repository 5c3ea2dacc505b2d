/* graph_world.c - memory of graphs, and their work in plain C (graph_world.h). */
#include "support/graph_world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/exact.h"
#include "support/graph_works.h"
#include "support/harness.h"

/* ---- Memory ---- */

float *world_array(const world *w, int side, int64_t i) { return w->block[side] + i * w->length; }

void world_draw(world *w)
{
    for (int64_t i = 0; i < 2 * ARRAYS * w->length; i++) {
        const int64_t value = test_between(&w->rng, 1, LARGEST), at = i / 2, of = at / w->length;
        const float x = (float)(test_random(&w->rng) % 2 != 0 ? value : -value);
        w->image[i % 2][at] = of == 0 || of == ARRAYS - 1 ? test_poison() : x;
    }
}

void world_send(const world *w)
{
    CHECK_STATUS(DUO_OK, duo_synchronize(w->ctx));
    memcpy(w->block[HOST], w->image[HOST], w->bytes);
    CHECK_STATUS(DUO_OK, duo_copy(w->ctx, w->block[DEVICE], w->image[DEVICE], w->bytes));
}

world world_begin(const char *label, int64_t length)
{
    world w = {.ctx = test_context(), .rng = test_rng_for(label), .length = length};
    void *memory = NULL, *pinned = NULL;
    w.bytes = ARRAYS * (size_t)length * sizeof(float);
    for (int side = 0; side < SIDES; side++) w.image[side] = new_floats(ARRAYS * length);
    CHECK_STATUS(DUO_OK, duo_malloc(w.ctx, w.bytes, &memory));
    w.block[DEVICE] = memory;
    w.pinned = test_random(&w.rng) % 2 != 0;
    if (w.pinned) CHECK_STATUS(DUO_OK, duo_malloc_host(w.ctx, w.bytes, &pinned));
    w.block[HOST] = w.pinned ? pinned : new_floats(ARRAYS * length);
    world_draw(&w);
    world_send(&w);
    return w;
}

void world_free(world *w)
{
    CHECK_STATUS(DUO_OK, duo_free(w->ctx, w->block[DEVICE]));
    if (w->pinned)
        CHECK_STATUS(DUO_OK, duo_free_host(w->ctx, w->block[HOST]));
    else
        free(w->block[HOST]);
    for (int side = 0; side < SIDES; side++) free(w->image[side]);
}

void world_end(world *w)
{
    world_free(w);
    end_without_leaks(w->ctx);
}

void *world_image(const world *w, const void *p)
{
    if (p == NULL) return NULL;
    const uintptr_t on_host = (uintptr_t)p - (uintptr_t)w->block[HOST];
    const uintptr_t on_device = (uintptr_t)p - (uintptr_t)w->block[DEVICE];
    if (on_host < w->bytes) return (char *)w->image[HOST] + on_host;
    if (on_device < w->bytes) return (char *)w->image[DEVICE] + on_device;
    abort();
}

/* All poison is alike, also if its lower bytes were written since; so are -0 and 0. */
static bool alike(float x, float y)
{
    return test_same(x, y) || x == y || (fabsf(x) < 1e-37f && fabsf(x) == fabsf(y));
}

void world_check(const world *w)
{
    const int64_t count = ARRAYS * w->length;
    float *const copy = new_floats(count);
    test_fill_poison(copy, count);
    CHECK_STATUS(DUO_OK, duo_synchronize(w->ctx));
    CHECK_STATUS(DUO_OK, duo_copy(w->ctx, copy, w->block[DEVICE], w->bytes));
    for (int side = 0; side < SIDES; side++) {
        const float *const got = side == HOST ? w->block[HOST] : copy;
        const float *const right = w->image[side];
        int64_t i = 0;
        while (i < count && alike(got[i], right[i])) i++;
        CHECK(i == count, "side %d, array %d, element %d: %g, expected %g", side,
              (int)(i / w->length), (int)(i % w->length), (double)got[i % count],
              (double)right[i % count]);
    }
    free(copy);
}

/* ---- The same work in plain C ---- */

void world_convert(void *user)
{
    const conversion *const c = user;
    for (int64_t i = 0; i < c->count; i++)
        c->to[i] = (float)(1 + ((int64_t)fabsf(c->from[i]) + c->add) % 5);
}

static int64_t place_of(const duo_work *v, duo_transpose trans, int64_t ld, int64_t i, int64_t j)
{
    return (v->layout == DUO_ROW_MAJOR) == (trans == DUO_NO_TRANS) ? i * ld + j : i + j * ld;
}

static void serial_product(const duo_work *v)
{
    for (int64_t i = 0; i < v->m; i++)
        for (int64_t j = 0; j < v->n; j++) {
            float sum = 0.0f, *const c = &v->c[place_of(v, DUO_NO_TRANS, v->ldc, i, j)];
            for (int64_t p = 0; p < (v->alpha != 0.0f ? v->k : 0); p++)
                sum += v->a[place_of(v, v->transa, v->lda, i, p)] *
                       v->b[place_of(v, v->transb, v->ldb, p, j)];
            *c = v->alpha * sum + (v->beta == 0.0f ? 0.0f : v->beta * *c);
        }
}

static float serial_sum(const duo_work *v)
{
    const bool dot = v->kind == DUO_WORK_SDOT;
    float sum = 0.0f;
    for (int64_t i = 0; i < (dot || v->incx > 0 ? v->n : 0); i++) {
        const float x = v->x[(v->incx >= 0 ? i : i - (v->n - 1)) * v->incx];
        if (dot) sum += x * v->y[(v->incy >= 0 ? i : i - (v->n - 1)) * v->incy];
        if (!dot) sum += v->kind == DUO_WORK_SASUM ? fabsf(x) : x;
    }
    return sum;
}

void work_do(duo_work *v)
{
    if (v->kind == DUO_WORK_SGEMM) serial_product(v);
    if (work_reduces(v->kind)) *v->result = serial_sum(v);
    for (size_t r = 0; r < (v->width > 0 ? v->height : 0); r++) {
        char *const to = (char *)v->dst + r * v->dst_pitch;
        if (v->kind == DUO_WORK_SET)
            memset(to, v->value, v->width);
        else
            memcpy(to, (const char *)v->src + r * v->src_pitch, v->width);
    }
    if (v->function != NULL) v->function(v->user);
}

void world_do(const world *w, const duo_work *work)
{
    duo_work v = *work;
    conversion c;
    v.a = world_image(w, v.a), v.b = world_image(w, v.b), v.c = world_image(w, v.c);
    v.x = world_image(w, v.x), v.y = world_image(w, v.y), v.result = world_image(w, v.result);
    v.dst = world_image(w, v.dst), v.src = world_image(w, v.src);
    if (v.function == world_convert) {
        c = *(const conversion *)v.user;
        c.from = world_image(w, c.from), c.to = world_image(w, c.to);
        v.user = &c;
    } else {
        v.function = NULL; /* other functions do not change the images */
    }
    work_do(&v);
}
