/*
 * random_program.h - random programs over the whole API, with an exact oracle, on two simulated
 * devices or those of the machine.
 *
 * A program is a process: threads (actors) with their own contexts, arrays, events and graphs, and
 * shared arrays that all actors read. Each actor makes random calls and does the same in plain C in
 * images of its arrays. Data are small integers, so every sum is exact in any order, and right
 * results are equal. A program's mood says what may go wrong: nothing, failing calls of the
 * backend, or lost devices. A status is wrong if it is not DUO_OK and the mood does not explain it.
 * Data may be lost only if the sole current copy was on a device. After a failed call the actor
 * looks at each array that the call named.
 */
#ifndef DUO_TESTS_RANDOM_PROGRAM_H
#define DUO_TESTS_RANDOM_PROGRAM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "duoblas.h"
#include "gpu/backend/devices.h"
#include "support/data.h"

/* ---- Programs ---- */

typedef enum mood { CALM, FAILING, LOSING } mood;

enum { LEAST_FLOATS = 200, MOST_FLOATS = 3000, MOST_VALUE = 256, DEVICES = 2 };
enum { MOST_ACTORS = 32, CONTEXTS = 3, EVENTS = 3, GRAPHS = 2 };
enum { ARRAYS_EACH = 10, SHARED_ARRAYS = 3 };
enum { NODES = 12, AWAITED = 150, REMEMBERED = 60, INVOLVED = 2 * NODES + 8 };

typedef enum place { PLAIN, PINNED, ON_DEVICE, ADOPTED, PLACES } place;

typedef struct array {
    place place;
    float *x, *truth, *stash; /* its place, its content, and the content before a call */
    int64_t count;
    int64_t kept_from, kept_to; /* range of kept elements; none if equal */
    bool newer;                 /* kept: the device copy may be newer */
    int device;                 /* the device of ON_DEVICE and ADOPTED */
    int graphs;                 /* number of graphs that use it; it stays in place */
    bool shared;                /* only read */
} array;

typedef struct context {
    duo_context *ctx; /* NULL: the thread's default context */
    int device;
    duo_math math;
    bool async, told; /* told: of lost results */
    struct awaited {
        float *at, expected;
    } awaited[AWAITED]; /* results that may come later */
    int results;
} context;

typedef struct event {
    duo_event *event;
    context *of; /* the event follows the first `results` */
    int results; /* number of this context's results */
} event;

typedef struct graph {
    duo_graph *graph; /* NULL: there is none */
    duo_work work[NODES];
    struct conversion *user[NODES];
    duo_node node[NODES];
    int nodes;
    array *uses[INVOLVED];
    int used;
} graph;

typedef struct program program;

typedef struct actor {
    program *program;
    int number;
    pthread_t thread;
    test_rng rng;
    context context[CONTEXTS];
    array array[ARRAYS_EACH];
    event event[EVENTS];
    graph graph[GRAPHS];
    uint64_t calls;
    char remembered[REMEMBERED][200];
    uint64_t noted, steps;
} actor;

struct program {
    bool real;              /* on the machine's own devices: they do not fail */
    bool followed;          /* by another program, in whose devices nothing is lost */
    int most_actors, steps; /* given, as these two are; all else is drawn */
    uint64_t seed;
    const uint8_t *input; /* of a fuzzer, which chooses as long as bytes are left; NULL: none */
    size_t left;
    mood mood;
    int actors, devices;
    bool keeps;         /* most arrays are kept, more than the devices hold */
    bool defaults;      /* calls are made in default contexts as well */
    atomic_int trouble; /* orders given to the backend to fail, or to lose a device */
    atomic_bool wrong;  /* an actor found something: all stop */
    actor actor[MOST_ACTORS];
    array shared[SHARED_ARRAYS];
};

/* A choice, both ends included. */
static inline int64_t any(actor *a, int64_t low, int64_t high)
{
    program *const p = a->program;
    const int64_t choices = high - low + 1;
    int64_t value = 0, most = 1;
    if (p->left == 0) return test_between(&a->rng, low, high);
    for (; most < choices && p->left > 0; most *= 256, p->left--) value = value * 256 + *p->input++;
    return low + value % choices;
}

/* An element of an array: there are too many for a fuzzer's bytes. */
static inline float datum(actor *a) { return (float)test_between(&a->rng, -4, 4); }
static inline bool one_in(actor *a, int64_t n) { return any(a, 0, n - 1) == 0; }

/* One call of the library: it is counted, and remembered with its status. */
#define CALL(a, call, ...) (note((a), __VA_ARGS__), heard((a), (call)))
void note(actor *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
duo_status heard(actor *a, duo_status status);

/* Something is wrong: tells what, and the actor's last calls; the program ends. */
void wrong(actor *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
static inline bool stopped(const actor *a) { return atomic_load(&a->program->wrong); }

/* Was a device lost since the program began? */
static inline bool any_lost(void)
{
    return __atomic_load_n(&duo_devices_lost, __ATOMIC_ACQUIRE) != 0;
}

/* Failures that a function may return, each only if the mood explains it. */
enum { MAY_LOSE = 1, MAY_DEVICE = 2, MAY_MEMORY = 4, MAY_FAIL = MAY_DEVICE | MAY_MEMORY };
/* Does the mood explain the status? some_lost: a named array may be lost. Returns whether the call
 * did its work. */
bool judge(actor *a, duo_status status, int may, bool some_lost, const char *what);

/* ---- Running (random_run.c) ---- */

/* All that the program of this seed does; returns how many calls. Of `p`, which is zeros else, the
 * first fields are given. */
uint64_t run_random_program(program *p, uint64_t seed);
void tell_hang(const program *p); /* to stderr: the last calls of all actors */

/* ---- Arrays (random_arrays.c) ---- */

context *any_context(actor *a);
bool is_kept(const array *v);
bool on_device(const array *v);       /* and not in host memory because there is no device */
bool on_device_alone(const array *v); /* may its newest data be only there? */
bool lossy(const array *v);           /* may its data be lost by now? */
array *array_around(actor *a, const void *address);
/* Its place in the images; an address outside all arrays is its own image. */
void *image_of(actor *a, const void *address);

void make_array(actor *a, array *v, context *c);
void end_array(actor *a, array *v);
void refill(actor *a, array *v); /* new data, all of it */
/* Checks that the array is right, or rightly lost; then it is filled anew. */
void look(actor *a, array *v);
void do_array(actor *a); /* one of the verbs of memory and residency */

/* ---- Works (random_works.c) ---- */

/* Which arrays a work may name. */
typedef struct choice_of {
    bool graph; /* none that is kept or shared */
    int side;   /* -1: any; 0: in host memory; 1: on `device` */
    int device;
    int half; /* 0: all; 1: only even indexes; 2: only odd ones */
} choice_of;

/* Floats that the operands of a product span. */
typedef struct spans {
    int64_t a, b, c;
} spans;

/* `span` floats somewhere in an array; written ones in no shared array. NULL: there is no place. */
float *area(actor *a, const choice_of *of, int64_t span, bool written);
spans any_shape(actor *a, duo_work *product); /* and scalars */
bool any_work(actor *a, duo_work_kind kind, const choice_of *of, duo_work *work);
bool any_copy(actor *a, const choice_of *from, const choice_of *to, duo_work *work);
/* The arrays that a work names; the written one, if any, is the first. */
int named(actor *a, const duo_work *work, array *list[4]);
/* Does it in the images. False: numbers would grow too large, and it is not done. */
bool imagine(actor *a, const duo_work *work);
void stash(array *v);
void unstash(array *v);

/* ---- Calls (random_calls.c) ---- */

duo_status perform(actor *a, context *c, const duo_work *work);
void do_call(actor *a);
void do_batch(actor *a);

/* ---- Contexts and events (random_contexts.c) ---- */

void open_context(actor *a, context *c);
void close_context(actor *a, context *c);
void synchronize(actor *a, context *c);
void do_context(actor *a);
void do_event(actor *a);

/* ---- Mishaps (random_mishaps.c) ---- */

void call_off(actor *a); /* withdraws the orders to fail */
void do_mishap(actor *a);
void do_fork(actor *a);

/* ---- Graphs (random_graphs.c) ---- */

void do_graph(actor *a);
void end_graph(actor *a, graph *g);
void end_graphs_of(actor *a, const array *v);

#endif
