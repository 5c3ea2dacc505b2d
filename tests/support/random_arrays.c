/* random_arrays.c - arrays of random programs (random_program.h): where they are, and the verbs of
 * memory and residency. */
#include <stdlib.h>
#include <string.h>

#include "data/residency.h"
#include "gpu/backend/devices.h"
#include "sim/sim.h"
#include "support/exact.h"
#include "support/random_program.h"

enum { TRIES = 8 };

context *any_context(actor *a) { return &a->context[any(a, 0, CONTEXTS - 1)]; }

bool is_kept(const array *v) { return v->kept_from < v->kept_to; }

/* The device that has this memory; -1: host memory. */
static int device_of(const void *address)
{
    bool crosses;
    duo_residency_lock();
    const duo_region *const region =
        duo_residency_find((uintptr_t)address, (uintptr_t)address + 1, &crosses);
    const int device = region != NULL && duo_region_lies_on_device(region) ? region->device : -1;
    duo_residency_unlock();
    return device;
}

bool on_device(const array *v) { return v->x != NULL && v->device >= 0; }

bool on_device_alone(const array *v) { return on_device(v) || (is_kept(v) && v->newer); }

bool lossy(const array *v)
{
    return on_device(v) ? duo_device_lost(v->device) : is_kept(v) && v->newer && any_lost();
}

static size_t bytes_of(const array *v) { return (size_t)v->count * sizeof(float); }
static size_t kept_bytes(const array *v)
{
    return (size_t)(v->kept_to - v->kept_from) * sizeof(float);
}

static bool around(const array *v, const void *address)
{
    return v->x != NULL && (uintptr_t)address - (uintptr_t)v->x < bytes_of(v);
}

array *array_around(actor *a, const void *address)
{
    for (int i = 0; i < ARRAYS_EACH; i++)
        if (around(&a->array[i], address)) return &a->array[i];
    for (int i = 0; i < SHARED_ARRAYS; i++)
        if (around(&a->program->shared[i], address)) return &a->program->shared[i];
    return NULL;
}

void *image_of(actor *a, const void *address)
{
    const array *const v = array_around(a, address);
    if (v == NULL) return (void *)(uintptr_t)address;
    return (char *)v->truth + ((uintptr_t)address - (uintptr_t)v->x);
}

/* ---- What may be tried again ---- */

/* Should the call be tried again? After some tries no call is told to fail any more. */
static bool again(actor *a, duo_status status, int try)
{
    if (status != DUO_ERR_DEVICE && status != DUO_ERR_MEMORY) return false;
    if (try == TRIES / 2) call_off(a);
    if (try == TRIES) wrong(a, "fails for good");
    return try < TRIES;
}

static duo_status fetch(actor *a, array *v)
{
    duo_status status;
    const int64_t at = any(a, v->kept_from, v->kept_to - 1);
    int try = 0;
    do {
        context *const c = any_context(a);
        status = CALL(a, duo_fetch(c->ctx, v->x + at, sizeof(float)), "fetch %p", (void *)v->x);
    } while (again(a, status, try++));
    (void)judge(a, status, MAY_LOSE | MAY_FAIL, lossy(v), "fetch");
    if (status == DUO_OK && !v->shared) v->newer = false;
    return status;
}

static duo_status copy_all(actor *a, const array *v, void *dst, const void *src)
{
    duo_status status;
    int try = 0;
    do {
        context *const c = any_context(a);
        status = CALL(a, duo_copy(c->ctx, dst, src, bytes_of(v)), "copy %p <- %p, all %ld", dst,
                      src, (long)v->count);
    } while (again(a, status, try++));
    (void)judge(a, status, MAY_LOSE | MAY_FAIL, lossy(v), "copy all");
    return status;
}

static void change(actor *a, array *v, int64_t from, int64_t to)
{
    duo_status status;
    int try = 0;
    do {
        context *const c = any_context(a);
        status = CALL(a, duo_changed(c->ctx, v->x + from, (size_t)(to - from) * sizeof(float)),
                      "changed %p + %ld, %ld", (void *)v->x, (long)from, (long)(to - from));
    } while (again(a, status, try++));
    (void)judge(a, status, MAY_FAIL, false, "changed");
}

/* ---- Memory comes and goes ---- */

static void draw(actor *a, array *v)
{
    for (int64_t i = 0; i < v->count; i++) v->truth[i] = datum(a);
}

static void take_memory(actor *a, array *v, context *c)
{
    void *memory = NULL;
    const size_t bytes = bytes_of(v);
    if (v->place == ADOPTED && a->program->real) v->place = ON_DEVICE;
    /* A context may have another device in place of a lost one. */
    if (v->place == ADOPTED && CALL(a, duo_set_device(c->ctx, c->device), "context %d: device %d",
                                    (int)(c - a->context), c->device) != DUO_OK)
        v->place = ON_DEVICE;
    if (v->place == ADOPTED) {
        memory = sim_foreign_malloc(c->device, bytes);
        const duo_status status =
            memory == NULL ? DUO_ERR_DEVICE
                           : CALL(a, duo_adopt(c->ctx, memory, bytes), "adopt %p", memory);
        if (status != DUO_OK) {
            if (memory != NULL) {
                sim_foreign_free(memory);
                if (a->program->mood == CALM) wrong(a, "adopt: %s", duo_status_string(status));
            }
            memory = NULL;
            v->place = ON_DEVICE;
        }
    }
    if (v->place == ON_DEVICE)
        (void)judge(a, CALL(a, duo_malloc(c->ctx, bytes, &memory), "malloc %zu", bytes), 0, false,
                    "malloc");
    else if (v->place == PINNED)
        (void)judge(a, CALL(a, duo_malloc_host(c->ctx, bytes, &memory), "malloc_host %zu", bytes),
                    0, false, "malloc_host");
    else if (v->place == PLAIN)
        memory = malloc(bytes);
    if (memory == NULL) abort();
    v->x = memory;
    v->device = device_of(memory);
    v->newer = false;
    v->kept_from = v->kept_to = 0;
}

static void give_memory(actor *a, array *v)
{
    context *const c = any_context(a);
    void *const x = v->x;
    duo_status status = DUO_OK;
    if (v->place == ADOPTED) {
        status = CALL(a, duo_disown(c->ctx, x), "disown %p", x);
        sim_foreign_free(x);
    } else if (v->place == ON_DEVICE) {
        status = CALL(a, duo_free(c->ctx, x), "free %p", x);
    } else if (v->place == PINNED) {
        status = CALL(a, duo_free_host(c->ctx, x), "free_host %p", x);
    } else {
        free(x);
    }
    (void)judge(a, status, 0, false, "give memory back");
    v->x = NULL;
}

/* True: released, and the data are there. */
static bool release(actor *a, array *v)
{
    duo_status status;
    int try = 0;
    do {
        context *const c = any_context(a);
        status = CALL(a, duo_release(c->ctx, v->x + any(a, v->kept_from, v->kept_to - 1)),
                      "release %p", (void *)v->x);
    } while (again(a, status, try++));
    (void)judge(a, status, MAY_LOSE | MAY_FAIL, lossy(v), "release");
    v->kept_from = v->kept_to = 0;
    v->newer = false;
    return status == DUO_OK;
}

static void compare(actor *a, const array *v, const float *got)
{
    for (int64_t i = 0; i < v->count; i++)
        if (!(got[i] == v->truth[i])) {
            wrong(a, "array %p (%s%s) of %ld: element %ld is %g, expected %g", (void *)v->x,
                  (const char *[]){"plain", "pinned", "device", "adopted"}[v->place],
                  is_kept(v) ? ", kept" : "", (long)v->count, (long)i, (double)got[i],
                  (double)v->truth[i]);
            return;
        }
}

static void keep(actor *a, array *v)
{
    context *const c = any_context(a);
    const bool all = one_in(a, 2);
    const int64_t from = all ? 0 : any(a, 0, v->count / 2),
                  to = all ? v->count : any(a, from + 1, v->count);
    end_graphs_of(a, v);
    (void)judge(a,
                CALL(a, duo_keep(c->ctx, v->x + from, (size_t)(to - from) * sizeof(float)),
                     "keep %p + %ld, %ld", (void *)v->x, (long)from, (long)(to - from)),
                0, false, "keep");
    v->kept_from = from, v->kept_to = to;
}

void make_array(actor *a, array *v, context *c)
{
    *v = (array){.place =
                     !one_in(a, a->program->keeps ? 4 : 2) ? PLAIN : (place)any(a, 0, PLACES - 1),
                 .count = any(a, LEAST_FLOATS, MOST_FLOATS)};
    v->truth = new_floats(v->count);
    v->stash = new_floats(v->count);
    take_memory(a, v, c);
    refill(a, v);
    if (v->place == PLAIN && a->program->keeps) keep(a, v);
}

void end_array(actor *a, array *v)
{
    if (!v->shared) end_graphs_of(a, v);
    look(a, v);
    if (is_kept(v)) (void)release(a, v);
    give_memory(a, v);
    free(v->truth);
    free(v->stash);
    *v = (array){.x = NULL};
}

void refill(actor *a, array *v)
{
    draw(a, v);
    if (v->place == ON_DEVICE || v->place == ADOPTED) {
        while (!stopped(a) && copy_all(a, v, v->x, v->truth) != DUO_OK) {
            end_graphs_of(a, v);
            give_memory(a, v);
            take_memory(a, v, any_context(a));
        }
        return;
    }
    if (is_kept(v)) (void)fetch(a, v); /* otherwise it may be lost until all of it is written */
    memcpy(v->x, v->truth, bytes_of(v));
    if (is_kept(v)) change(a, v, v->kept_from, v->kept_to);
    v->newer = false;
}

void look(actor *a, array *v)
{
    if (stopped(a)) return;
    duo_status status = DUO_OK;
    if (v->place == ON_DEVICE || v->place == ADOPTED) {
        float *const got = new_floats(v->count);
        test_fill_poison(got, v->count);
        status = copy_all(a, v, got, v->x);
        if (status == DUO_OK) compare(a, v, got);
        free(got);
    } else {
        if (is_kept(v)) status = fetch(a, v);
        if (status == DUO_OK) compare(a, v, v->x);
    }
    if (status != DUO_OK && !v->shared) refill(a, v);
}

/* ---- Verbs ---- */

static void do_change(actor *a, array *v)
{
    const int64_t from = any(a, 0, v->count - 1), to = any(a, from + 1, v->count);
    if (fetch(a, v) != DUO_OK) {
        refill(a, v);
        return;
    }
    for (int64_t i = from; i < to; i++) v->x[i] = v->truth[i] = datum(a);
    change(a, v, from, to);
}

static void prepare(actor *a, array *v)
{
    context *const c = any_context(a);
    const bool kept = is_kept(v);
    const size_t bytes = one_in(a, 4) ? 0 : kept ? kept_bytes(v) : bytes_of(v);
    (void)judge(a,
                CALL(a, duo_prepare(c->ctx, v->x + (kept ? v->kept_from : 0), bytes),
                     "prepare %p, %zu", (void *)v->x, bytes),
                0, false, "prepare");
}

void do_array(actor *a)
{
    array *const v = &a->array[any(a, 0, ARRAYS_EACH - 1)];
    const int64_t what = any(a, 0, 9);
    const bool host = v->place == PLAIN;
    if (what < 1) {
        if (v->graphs > 0 && !one_in(a, 4)) return;
        end_array(a, v);
        make_array(a, v, any_context(a));
    } else if (what < 3) {
        look(a, v);
    } else if (what < 4) {
        refill(a, v);
    } else if (host && is_kept(v)) {
        if (what < 6)
            do_change(a, v);
        else if (what < 8)
            prepare(a, v);
        else if (!release(a, v))
            refill(a, v);
        else
            compare(a, v, v->x);
    } else if (host && v->graphs == 0) {
        keep(a, v);
    } else if (on_device(v)) {
        prepare(a, v);
    }
}
