/*
 * test_graphs_random.c - random graphs against the same work in plain C, with nodes altered before
 * they are built and updated between launches; also graphs of one node of each kind. With
 * DUOBLAS_TEST_LONG=1 there are 3600 graphs, launched 10 800 times.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "support/exact.h"
#include "support/graph_works.h"
#include "support/graph_world.h"
#include "support/harness.h"

/* Values are bounded so that all sums are exact, factors so that they are exact in every format of
 * products. Values that are no integers any more are not used. */
enum { STEPS = 60, MOST = 1 << 22, NO_NUMBER, FACTOR = 100 };

/* Array i of side s is slot s * ARRAYS + i, and bit of that number in sets of arrays. */
enum { FIRST_CONSTANT = 4, FIRST_WRITTEN = 6, LAST_WRITTEN = 14, SLOTS = SIDES * ARRAYS };

typedef struct step {
    duo_work work[2]; /* between these two, updates go to and fro */
    conversion user[2];
    int now, to; /* of the two; the slot that is written */
    uint64_t reads;
    uint64_t before; /* the steps that it depends on, directly or not */
    duo_node node;
} step;

typedef struct program {
    world *w;
    int64_t edge; /* of its matrices */
    duo_graph *graph;
    int count;
    step step[STEPS];
    int64_t bound[SLOTS]; /* of the values after the steps so far */
} program;

static float *slot(const program *p, int i) { return world_array(p->w, i / ARRAYS, i % ARRAYS); }

static uint64_t bit(int i) { return (uint64_t)1 << i; }

/* But not slot `but`. */
static int pick(test_rng *rng, int side, int first, int last, int but)
{
    const int i = side * ARRAYS + (int)test_between(rng, first, last);
    return i != but ? i : pick(rng, side, first, last, but);
}

/* Kind and sizes, also 0; sizes of a copy are in units of 1 or 4 bytes. */
static duo_work random_shape(test_rng *rng, duo_work_kind kind, int64_t edge, int64_t unit)
{
    duo_work v = work_of(kind);
    const int64_t width = test_between(rng, 0, edge);
    v.math = (duo_math)test_between(rng, 0, 3);
    if (kind == DUO_WORK_SGEMM) {
        v.layout = (duo_layout)test_between(rng, DUO_ROW_MAJOR, DUO_COL_MAJOR);
        v.transa = (duo_transpose)test_between(rng, DUO_NO_TRANS, DUO_CONJ_TRANS);
        v.transb = (duo_transpose)test_between(rng, DUO_NO_TRANS, DUO_CONJ_TRANS);
        v.m = width, v.n = test_between(rng, 0, edge), v.k = test_between(rng, 0, edge);
        v.lda = v.ldb = v.ldc = edge;
    } else if (work_reduces(kind)) {
        v.incx = test_between(rng, kind == DUO_WORK_SDOT ? -3 : 0, 3);
        v.incy = test_between(rng, -3, 3), v.n = test_between(rng, 0, edge * edge / 3);
    } else if (kind == DUO_WORK_COPY || kind == DUO_WORK_SET) {
        v.height = (size_t)test_between(rng, 0, edge), v.width = (size_t)(unit * width);
        v.dst_pitch = (size_t)(unit * test_between(rng, width, edge));
        v.src_pitch = (size_t)(unit * test_between(rng, width, edge));
        if (unit == sizeof(float) && test_between(rng, 0, 1) == 0) /* all in one run */
            v.height = 1, v.width = (size_t)(unit * edge * edge), v.dst_pitch = v.src_pitch = 0;
    }
    return v;
}

/* A random place in a slot for the runs of v. */
static void *somewhere(const program *p, int i, size_t pitch, const duo_work *v, int64_t unit)
{
    const size_t taken = v->height > 0 ? (v->height - 1) * pitch + v->width : 0;
    const int64_t room = p->w->length * (int64_t)sizeof(float) - (int64_t)taken;
    return (char *)slot(p, i) + unit * test_between(&p->w->rng, 0, room / unit);
}

/* Chooses operands and scalars for one of the step's works. Returns the bound of the written
 * values, or -1 if these do not go. */
static int64_t aim(const program *p, step *s, int version, int from, int64_t unit)
{
    test_rng *const rng = &p->w->rng;
    duo_work *const v = &s->work[version];
    /* Bytes are copied from constants: results are right with either sign of a zero. */
    const bool bytes = v->kind == DUO_WORK_COPY && unit == 1;
    const int i = pick(rng, from, FIRST_CONSTANT, bytes ? FIRST_WRITTEN - 1 : LAST_WRITTEN, s->to);
    const int j = pick(rng, from, FIRST_CONSTANT, LAST_WRITTEN, s->to);
    const int64_t x = p->bound[i], y = p->bound[j];
    const bool dot = v->kind == DUO_WORK_SDOT;
    s->reads |= bit(i) | bit(j);
    v->value = (int)test_between(rng, -300, 300);
    switch (v->kind) {
    case DUO_WORK_SGEMM:
        v->a = slot(p, i), v->b = slot(p, j), v->c = slot(p, s->to);
        v->alpha = (float)test_between(rng, -1, 2);
        v->beta = (float)test_between(rng, -1, 1);
        if (v->beta != 0.0f) s->reads |= bit(s->to);
        return x > FACTOR || y > FACTOR ? -1 : 2 * v->k * x * y + p->bound[s->to];
    case DUO_WORK_SASUM:
    case DUO_WORK_SSUM:
    case DUO_WORK_SDOT:
        v->x = slot(p, i), v->y = dot ? slot(p, j) : NULL;
        v->result = slot(p, s->to) + test_between(rng, 0, p->w->length - 1);
        return x > MOST || y > MOST ? -1 : v->n * x * (dot ? y : 1);
    case DUO_WORK_COPY:
        v->src = somewhere(p, i, v->src_pitch, v, unit);
        v->dst = somewhere(p, s->to, v->dst_pitch, v, unit);
        return bytes ? NO_NUMBER : x;
    case DUO_WORK_SET:
        v->dst = somewhere(p, s->to, v->dst_pitch, v, unit);
        return NO_NUMBER;
    case DUO_WORK_HOST:
        s->user[version] = (conversion){slot(p, i), slot(p, s->to), v->value + 300, p->w->length};
        *v = work_calling(world_convert, &s->user[version]);
        return x > MOST ? -1 : 5;
    default:
        return 0;
    }
}

/* kind < 0: any. */
static void random_step(program *p, step *s, int kind)
{
    test_rng *const rng = &p->w->rng;
    for (;;) {
        const int of = kind >= 0 ? kind : (int)test_between(rng, 0, KINDS - 1);
        const int side = of == DUO_WORK_HOST ? HOST : (int)test_between(rng, HOST, DEVICE);
        const int from = of == DUO_WORK_COPY ? (int)test_between(rng, HOST, DEVICE) : side;
        const int64_t unit = of == DUO_WORK_SET || test_between(rng, 0, 2) == 0 ? 1 : sizeof(float);
        *s = (step){.to = pick(rng, side, FIRST_WRITTEN, LAST_WRITTEN, -1)};
        s->work[0] = s->work[1] = random_shape(rng, (duo_work_kind)of, p->edge, unit);
        const int64_t one = aim(p, s, 0, from, unit), two = aim(p, s, 1, from, unit);
        const int64_t most = one > two ? one : two;
        const bool number = most <= MOST || of == DUO_WORK_COPY || of == DUO_WORK_SET;
        if (one < 0 || two < 0 || !number) continue;
        const bool whole = of == DUO_WORK_HOST || s->work[0].width == (size_t)p->w->length * 4;
        if (whole || most > p->bound[s->to]) p->bound[s->to] = most;
        return;
    }
}

/* Step i comes behind earlier steps that touch its output or write its input; it need not depend on
 * each directly. Some more are thrown in, and some are named twice. */
static int dependencies(program *p, int i, duo_node *after)
{
    test_rng *const rng = &p->w->rng;
    step *const s = &p->step[i];
    int count = 0;
    for (int j = i - 1; j >= 0; j--) {
        const step *const t = &p->step[j];
        const bool conflict =
            s->to == t->to || ((s->reads & bit(t->to)) | (t->reads & bit(s->to))) != 0;
        const bool needed = conflict && (s->before & bit(j)) == 0;
        if (!needed && test_between(rng, 0, 15) != 0) continue;
        s->before |= t->before | bit(j);
        after[count++] = t->node;
        if (test_between(rng, 0, 7) == 0) after[count++] = t->node;
    }
    return count;
}

/* Adds the steps in their order; or empty nodes in any, which become the steps. */
static void assemble(program *p)
{
    const bool shuffled = test_between(&p->w->rng, 0, 1) == 0;
    int order[STEPS];
    duo_node after[2 * STEPS];
    for (int i = 0; i < p->count; i++) { /* a random permutation */
        const int j = (int)test_between(&p->w->rng, 0, i);
        order[i] = order[j];
        order[j] = i;
    }
    for (int i = 0; shuffled && i < p->count; i++)
        p->step[order[i]].node = graph_add(p->graph, NULL, NULL, 0);
    for (int i = 0; i < p->count; i++) {
        step *const s = &p->step[i];
        const int count = dependencies(p, i, after);
        if (!shuffled) {
            s->node = graph_add(p->graph, &s->work[0], after, count);
        } else { /* at once, or one after the other */
            const duo_work *const now = i % 2 == 0 ? &s->work[0] : NULL;
            CHECK_STATUS(DUO_OK, duo_graph_alter(p->graph, s->node, now, after, count));
            CHECK_STATUS(DUO_OK, duo_graph_alter(p->graph, s->node, &s->work[0], NULL, -1));
        }
    }
}

/* A random graph of `count` nodes is right at each launch, with some nodes updated in between. A
 * single node writes into poison. */
static void run_random(world *w, int64_t edge, int count, int launches, int kind)
{
    program *const p = calloc(1, sizeof *p);
    if (p == NULL) abort();
    p->w = w, p->edge = edge, p->count = count, p->graph = graph_new();
    for (int i = 0; i < SLOTS; i++) p->bound[i] = LARGEST;
    for (int i = 0; i < count; i++) random_step(p, &p->step[i], kind);
    assemble(p);
    CHECK_STATUS(DUO_OK, duo_graph_build(p->graph, w->ctx));
    for (int round = 0; round < launches; round++) {
        const step *const only = &p->step[0];
        world_draw(w);
        if (count == 1 && (only->reads & bit(only->to)) == 0)
            test_fill_poison(world_image(w, slot(p, only->to)), w->length);
        world_send(w);
        for (int i = 0; round > 0 && i < count; i++) {
            step *const s = &p->step[i];
            if (test_between(&w->rng, 0, 2) != 0) continue;
            s->now = 1 - s->now;
            CHECK_STATUS(DUO_OK, duo_graph_update(p->graph, s->node, &s->work[s->now]));
        }
        const uint64_t moved = sim_uploaded_bytes() + sim_downloaded_bytes();
        CHECK_STATUS(DUO_OK, duo_graph_launch(p->graph, w->ctx));
        if (count == 1 && test_on_sim() && only->to < ARRAYS && only->work[0].kind != DUO_WORK_COPY)
            CHECK(sim_uploaded_bytes() + sim_downloaded_bytes() == moved, "operands were copied");
        for (int i = 0; i < count; i++) world_do(w, &p->step[i].work[p->step[i].now]);
        world_check(w);
    }
    CHECK_STATUS(DUO_OK, duo_graph_destroy(p->graph));
    free(p);
}

/* Of each world. */
static int graphs_each(void) { return test_amount(25, 25, 600); }

static void random_graphs(void)
{
    static const char *const labels[] = {"graphs/random/0", "graphs/random/1", "graphs/random/2",
                                         "graphs/random/3", "graphs/random/4", "graphs/random/5"};
    for (int of = 0; of < 6; of++) {
        world w = world_begin(labels[of], 8 * 8);
        for (int i = 0; i < graphs_each(); i++) {
            const int count = (int)test_between(&w.rng, 1, STEPS);
            test_case("graphs_random/%d/%d/%d nodes%s", of, i, count, w.pinned ? ", pinned" : "");
            CHECK_STATUS(DUO_OK, duo_set_threads(w.ctx, i % 4));
            if (test_on_sim()) sim_set_delay(i % 3 == 0 ? 20 : 0);
            run_random(&w, 8, count, 3, -1);
        }
        if (test_on_sim()) sim_set_delay(0);
        world_end(&w);
    }
}

/* ---- Each kind of work ---- */

static void kinds(void)
{
    enum { EDGE = 32 };
    world w = world_begin("graphs/kinds", EDGE * EDGE);
    for (int kind = 0; kind < KINDS; kind++)
        for (int i = 0; i < (kind == DUO_WORK_SGEMM ? 150 : 50); i++) {
            test_case("graphs_random/kinds/%d/%d", kind, i);
            run_random(&w, EDGE, 1, 2, kind);
        }
    world_end(&w);
}

/* ---- Several threads ---- */

static void *run_in_thread(void *name)
{
    test_case("%s", (const char *)name);
    world w = world_begin(name, 8 * 8);
    run_random(&w, 8, 40, 20, -1);
    world_free(&w);
    test_context_end(w.ctx);
    return NULL;
}

static void threads(void)
{
    static char names[3][32] = {"graphs/threads/0", "graphs/threads/1", "graphs/threads/2"};
    pthread_t thread[3];
    if (test_on_sim()) sim_set_delay(50);
    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&thread[i], NULL, run_in_thread, names[i]) == 0, "no thread");
    for (int i = 0; i < 3; i++) pthread_join(thread[i], NULL);
    if (test_on_sim()) CHECK(sim_leaks() == 0, "%d things are still alive", sim_leaks());
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {
        {"random_graphs", random_graphs}, {"kinds", kinds}, {"threads", threads}, {NULL, NULL}};
    return test_main(argc, argv, "graphs_random", tests);
}
