/* random_contexts.c - contexts and events of random programs (random_program.h). */
#include <stdlib.h>

#include "support/random_program.h"

/* ---- Results that may come later ---- */

/* The first `count` results are there. If some may be lost, these may be as they were. */
static void check_results(actor *a, const context *c, int count, bool some_lost)
{
    for (int i = 0; i < count && !stopped(a); i++) {
        const float got = *c->awaited[i].at, expected = c->awaited[i].expected;
        if (!(got == expected) && !(some_lost && test_is_poison(got)))
            wrong(a, "awaited result %d of context %d is %g, expected %g", i, (int)(c - a->context),
                  (double)got, (double)expected);
    }
}

/* The context has waited for all its results. */
static void settle_results(actor *a, context *c, bool some_lost)
{
    check_results(a, c, c->results, some_lost || c->told);
    for (int i = 0; i < c->results; i++) free(c->awaited[i].at);
    c->results = 0;
    c->told = false;
    for (int i = 0; i < EVENTS; i++)
        if (a->event[i].of == c) a->event[i].results = 0;
}

void synchronize(actor *a, context *c)
{
    duo_status status;
    int try = 0;
    do {
        if (try == 4) call_off(a);
        status = CALL(a, duo_synchronize(c->ctx), "context %d: synchronize", (int)(c - a->context));
        if (try == 8) wrong(a, "cannot synchronize");
    } while (status == DUO_ERR_DEVICE && try++ < 8);
    (void)judge(a, status, MAY_LOSE | MAY_DEVICE, true, "synchronize");
    settle_results(a, c, status == DUO_ERR_LOST);
}

/* ---- Contexts ---- */

static void settle(actor *a, duo_status status, int may, const char *what)
{
    (void)judge(a, status, may, true, what);
}

static void set_path(actor *a, context *c)
{
    const duo_path path = one_in(a, 5) ? DUO_PATH_CPU : one_in(a, 4) ? DUO_PATH_AUTO : DUO_PATH_GPU;
    settle(a,
           CALL(a, duo_set_path(c->ctx, path), "context %d: path %d", (int)(c - a->context),
                (int)path),
           0, "set_path");
}

static void set_device(actor *a, context *c)
{
    const int most = a->program->devices;
    if (most == 0) return;
    const int device = (int)any(a, 0, most - 1), devices[] = {device, 1 - device};
    const bool both = one_in(a, 3);
    const duo_status status =
        both ? CALL(a, duo_set_devices(c->ctx, devices, most), "context %d: devices from %d",
                    (int)(c - a->context), device)
             : CALL(a, duo_set_device(c->ctx, device), "context %d: device %d",
                    (int)(c - a->context), device);
    settle(a, status, MAY_DEVICE, "set_device");
    if (status == DUO_OK) c->device = device;
}

static void set_async(actor *a, context *c)
{
    const bool on = !c->async;
    /* Each loss of awaited results costs their ring for good: in truth once for a device. */
    if (a->program->followed && a->program->mood == LOSING) return;
    const duo_status status =
        CALL(a, duo_set_async(c->ctx, on), "context %d: async %d", (int)(c - a->context), on);
    settle(a, status, on ? 0 : MAY_LOSE | MAY_DEVICE, "set_async");
    if (status == DUO_OK || status == DUO_ERR_LOST) c->async = on;
    c->told |= status == DUO_ERR_LOST;
}

void open_context(actor *a, context *c)
{
    *c = (context){.ctx = NULL};
    if (!a->program->defaults || c != &a->context[0])
        settle(a, CALL(a, duo_create(&c->ctx), "context %d: create", (int)(c - a->context)), 0,
               "create");
    set_path(a, c);
    set_device(a, c);
    if (one_in(a, 2)) set_async(a, c);
}

void close_context(actor *a, context *c)
{
    if (c->ctx == NULL) {
        synchronize(a, c);
        return;
    }
    const duo_status status =
        CALL(a, duo_destroy(c->ctx), "context %d: destroy", (int)(c - a->context));
    settle(a, status, MAY_LOSE | MAY_DEVICE, "destroy");
    settle_results(a, c, status != DUO_OK);
    for (int i = 0; i < EVENTS; i++)
        if (a->event[i].of == c) a->event[i].of = NULL;
    c->ctx = NULL;
}

static void set_anything(actor *a, context *c)
{
    const int number = (int)(c - a->context), value = (int)any(a, 0, 3);
    duo_decision decision = {.size = sizeof decision};
    switch (any(a, 0, 7)) {
    case 0:
        settle(a, CALL(a, duo_set_threads(c->ctx, value), "context %d: threads %d", number, value),
               0, "set_threads");
        return;
    case 1:
        settle(a,
               CALL(a, duo_set_math(c->ctx, (duo_math)value), "context %d: math %d", number, value),
               0, "set_math");
        c->math = (duo_math)value;
        return;
    case 2:
        settle(a, CALL(a, duo_set_adapt(c->ctx, value), "context %d: adapt %d", number, value), 0,
               "set_adapt");
        return;
    case 3:
        settle(a,
               CALL(a, duo_set_priority(c->ctx, (duo_priority)(value % 2)),
                    "context %d: priority %d", number, value % 2),
               0, "set_priority");
        return;
    case 4:
        settle(a,
               CALL(a, duo_set_remember(c->ctx, (duo_remember)(value % 3)),
                    "context %d: remember %d", number, value % 3),
               0, "set_remember");
        return;
    case 5:
        settle(a,
               CALL(a, duo_set_verify(c->ctx, value / 3.0, (uint64_t)number),
                    "context %d: verify %d/3", number, value),
               0, "set_verify");
        return;
    case 6:
        settle(a, CALL(a, duo_warm_up(c->ctx), "context %d: warm_up", number), 0, "warm_up");
        return;
    default:
        settle(a, CALL(a, duo_explain_last(c->ctx, &decision), "context %d: explain", number), 0,
               "explain_last");
    }
}

void do_context(actor *a)
{
    context *const c = any_context(a);
    const int64_t what = any(a, 0, 11);
    if (what < 3) {
        synchronize(a, c);
    } else if (what < 5) {
        set_path(a, c);
    } else if (what < 6) {
        set_device(a, c);
    } else if (what < 7) {
        set_async(a, c);
    } else if (what < 8) {
        settle(a, CALL(a, duo_trim(c->ctx), "context %d: trim", (int)(c - a->context)), 0, "trim");
    } else if (what < 9) {
        if (c->ctx == NULL) return;
        close_context(a, c);
        open_context(a, c);
    } else {
        set_anything(a, c);
    }
}

/* ---- Events ---- */

static void event_reached(actor *a, const event *e, duo_status status)
{
    if (e->of == NULL) return;
    e->of->told |= status == DUO_ERR_LOST;
    if (status == DUO_OK || status == DUO_ERR_LOST)
        check_results(a, e->of, e->results, e->of->told);
}

void do_event(actor *a)
{
    event *const e = &a->event[any(a, 0, EVENTS - 1)];
    context *const c = any_context(a);
    const int number = (int)(e - a->event);
    const int64_t what = any(a, 0, 9);
    duo_status status;
    int done = 0;
    if (what < 1 || e->event == NULL) {
        settle(a, CALL(a, duo_event_destroy(e->event), "event %d: destroy", number), 0,
               "event_destroy");
        settle(a, CALL(a, duo_event_create(&e->event), "event %d: create", number), 0,
               "event_create");
        e->of = NULL;
    } else if (what < 5) {
        status = CALL(a, duo_event_record(c->ctx, e->event), "event %d: record in context %d",
                      number, (int)(c - a->context));
        settle(a, status, 0, "event_record");
        e->of = c;
        e->results = c->results;
    } else if (what < 7) {
        status = CALL(a, duo_event_wait(c->ctx, e->event), "event %d: context %d waits", number,
                      (int)(c - a->context));
        settle(a, status, MAY_DEVICE, "event_wait");
    } else if (what < 9) {
        status = CALL(a, duo_event_synchronize(e->event), "event %d: synchronize", number);
        settle(a, status, MAY_LOSE | MAY_DEVICE, "event_synchronize");
        event_reached(a, e, status);
    } else {
        status = CALL(a, duo_event_query(e->event, &done), "event %d: query", number);
        settle(a, status, MAY_LOSE | MAY_DEVICE, "event_query");
        if (done) event_reached(a, e, status);
    }
}
