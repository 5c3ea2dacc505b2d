/*
 * sim_device.c - a simulated GPU behind the backend.
 *
 * Device addresses lie in a range that the host may not touch; the bytes behind them are in a
 * shadow of the same size, at a fixed distance, that only the workers and sim_read/sim_write use.
 * One lock guards all bookkeeping; the work itself runs outside it. Whenever a call answers that
 * the device is lost, nothing runs on that device any more, as with a real sticky error.
 */
#define _GNU_SOURCE
#include "sim_device.h"

#include "reference_order.h"
#include "choice/algorithm.h"

#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define DEVICE_RANGE ((size_t)64 << 30) /* addresses of each device */
#define GAP          ((size_t)4096)     /* dead bytes between allocations */
#define ALIGNMENT    ((size_t)256)
#define POISON_BYTES ((size_t)16 << 20) /* so much of a new allocation is filled with NaN */
#define UNLIMITED    UINT64_MAX

typedef enum block_kind { BLOCK_DEVICE, BLOCK_FOREIGN, BLOCK_PINNED } block_kind;

typedef struct block {
    uintptr_t start;
    size_t bytes;
    int device;
    block_kind kind;
    bool gone; /* its device was lost; it may still be released */
} block;

/* How far a queue is; outlives it while others wait for it. */
typedef struct progress {
    uint64_t queued, done;
    int references;
} progress;

typedef enum work_kind { WORK_COPY, WORK_LAUNCH, WORK_AFTER } work_kind;

typedef struct work {
    struct work *next;
    work_kind kind;
    bool fails, garbage; /* an asynchronous failure */
    bool plain;          /* a copy whose host memory need not be pinned */

    char *dst; /* copy */
    const char *src;
    size_t dst_pitch, src_pitch, width, height;

    duo_call call; /* launch */
    const duo_algorithm *algorithm;
    uint64_t *pinned_result;
    uint32_t ticket;

    progress *earlier; /* after */
    uint64_t target;
} work;

struct duo_queue {
    int device;
    void *stream;
    pthread_t worker;
    work *first, **last;
    progress *progress;
    uint64_t mark[DUO_MARKS];
    bool closing;
    uint64_t random;
    struct duo_queue *next;
};

typedef struct order {
    int nth, times; /* nth == 0: not armed */
    duo_status status;
} order;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static struct {
    pid_t owner;
    char *range, *shadow; /* SIM_DEVICES times DEVICE_RANGE */
    size_t next[SIM_DEVICES];
    block *block;
    int blocks, block_room;
    duo_queue *queues;

    int devices;
    bool lost[SIM_DEVICES];
    uint64_t memory, pinned_memory;
    int delay_microseconds;
    bool hold;
    order order[SIM_KINDS];
    int async_nth;
    bool async_garbage;

    uint64_t count[SIM_KINDS], uploaded, downloaded;
    duo_algorithm_id last_algorithm;
    int violations;
    bool wait_failed; /* has one been told to? Then nobody can know what is done */
} sim = {.devices = 1,
         .memory = (uint64_t)1 << 30,
         .pinned_memory = UNLIMITED,
         .last_algorithm = DUO_ALGORITHMS};

static _Thread_local char detail_text[160];

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(detail_text, sizeof detail_text, format, arguments);
    va_end(arguments);
}

/* Needs the lock. */
static void violation(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void violation(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    sim.violations++;
    fputs("simulated device: VIOLATION: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

/* ---- Memory ---- */

static void make_range(void)
{
    if (sim.range != NULL) return;
    const size_t bytes = SIM_DEVICES * DEVICE_RANGE;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    sim.range = mmap(NULL, bytes, PROT_NONE, flags, -1, 0);
    sim.shadow = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (sim.range == MAP_FAILED || sim.shadow == MAP_FAILED) {
        perror("simulated device: no address space");
        exit(2);
    }
}

static bool in_range(const void *address)
{
    const uintptr_t a = (uintptr_t)address, first = (uintptr_t)sim.range;
    return sim.range != NULL && a >= first && a - first < SIM_DEVICES * DEVICE_RANGE;
}

/* Where the bytes of a device address are; pinned addresses are their own. */
static void *behind(const void *address)
{
    const uintptr_t a = (uintptr_t)address;
    return in_range(address) ? sim.shadow + (a - (uintptr_t)sim.range) : (void *)a;
}

static uint64_t used_bytes(int device, bool pinned)
{
    uint64_t bytes = 0;
    for (int i = 0; i < sim.blocks; i++)
        if ((sim.block[i].kind == BLOCK_PINNED) == pinned && !sim.block[i].gone &&
            (pinned || sim.block[i].device == device))
            bytes += sim.block[i].bytes;
    return bytes;
}

static void add_block(uintptr_t start, size_t bytes, int device, block_kind kind)
{
    if (sim.blocks == sim.block_room) {
        sim.block_room = 2 * sim.block_room + 64;
        sim.block = realloc(sim.block, (size_t)sim.block_room * sizeof *sim.block);
        if (sim.block == NULL) abort();
    }
    sim.block[sim.blocks++] = (block){start, bytes, device, kind, false};
}

/* The live block that starts at an address, or -1. */
static int find_block(const void *address, block_kind kind)
{
    for (int i = 0; i < sim.blocks; i++)
        if (sim.block[i].start == (uintptr_t)address && sim.block[i].kind == kind) return i;
    return -1;
}

/* The live block that holds [low, high), or NULL. */
static const block *block_around(uintptr_t low, uintptr_t high)
{
    for (int i = 0; i < sim.blocks; i++) {
        const block *b = &sim.block[i];
        if (low >= b->start && high <= b->start + b->bytes && low <= high && !b->gone) return b;
    }
    return NULL;
}

/* Addresses are handed out upwards and come back late, so that use after release is seen. */
static duo_status take_device_memory(int device, size_t bytes, block_kind kind, void **address)
{
    make_range();
    const uint64_t used = used_bytes(device, false);
    if (bytes > sim.memory || used > sim.memory - bytes) {
        say("simulated device %d: out of memory", device);
        return DUO_ERR_MEMORY;
    }
    const size_t room = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + GAP;
    const uintptr_t base = (uintptr_t)sim.range + (size_t)device * DEVICE_RANGE;
    if (room > DEVICE_RANGE) return DUO_ERR_MEMORY;
    if (sim.next[device] + room > DEVICE_RANGE) sim.next[device] = 0;
    uintptr_t start = base + sim.next[device];
    for (int i = 0; i < sim.blocks; i++) {
        const block *b = &sim.block[i];
        if (b->start < start + room && start < b->start + b->bytes + GAP) {
            start = b->start + (b->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + GAP;
            i = -1;
        }
        if (start + room > base + DEVICE_RANGE) return DUO_ERR_MEMORY;
    }
    sim.next[device] = start + room - base;
    add_block(start, bytes, device, kind);
    memset(behind((void *)start), 0xff, bytes < POISON_BYTES ? bytes : POISON_BYTES);
    *address = (void *)start;
    return DUO_OK;
}

static void drop_block(int index)
{
    const block b = sim.block[index];
    sim.block[index] = sim.block[--sim.blocks];
    if (b.kind == BLOCK_PINNED) {
        free((void *)b.start);
        return;
    }
    const uintptr_t shadow = (uintptr_t)behind((void *)b.start);
    const uintptr_t low = (shadow + 4095) / 4096 * 4096, high = (shadow + b.bytes) / 4096 * 4096;
    if (high > low) madvise((void *)low, high - low, MADV_DONTNEED);
}

/* ---- Order of events; all of these need the lock ---- */

static bool drained(int device)
{
    for (const duo_queue *q = sim.queues; q != NULL; q = q->next)
        if (q->device == device && q->progress->done < q->progress->queued) return false;
    return true;
}

/* Every answer "lost" goes through here. */
static duo_status answer_lost(int device)
{
    sim.lost[device] = true;
    pthread_cond_broadcast(&changed);
    while (!drained(device)) pthread_cond_wait(&changed, &lock);
    for (int i = 0; i < sim.blocks; i++)
        if (sim.block[i].device == device && sim.block[i].kind != BLOCK_PINNED)
            sim.block[i].gone = true;
    say("simulated device %d: lost", device);
    return DUO_ERR_LOST;
}

/* In a forked child there are no workers, and the lock may be held for ever. */
static bool in_child(void) { return sim.owner != 0 && sim.owner != getpid(); }

static bool forked(void)
{
    if (!in_child()) return false;
    violation("used in a forked child");
    return true;
}

/*
 * Counts a call and answers what it has been told to answer. Takes the lock, which the caller gives
 * back with leave(). Sets *go if the call is to be carried out.
 */
static duo_status enter(sim_kind kind, int device, bool *go)
{
    pthread_mutex_lock(&lock);
    if (sim.owner == 0) sim.owner = getpid();
    *go = false;
    sim.count[kind]++;
    const bool any_device = kind == SIM_CLOSE || kind == SIM_CLASSIFY; /* or none */
    if (device >= SIM_DEVICES || device < 0 || (device >= sim.devices && !any_device)) {
        violation("call %d on device %d of %d", (int)kind, device, sim.devices);
        return DUO_ERR_DEVICE;
    }
    order *o = &sim.order[kind];
    if (o->nth > 0 && --o->nth == 0) {
        if (o->times > 0) o->times--;
        o->nth = o->times != 0;
        sim.wait_failed |= kind == SIM_WAIT;
        say("simulated device %d: told to answer %d", device, (int)o->status);
        return o->status == DUO_ERR_LOST ? answer_lost(device) : o->status;
    }
    if (sim.lost[device] && kind != SIM_CLOSE && kind != SIM_RELEASE) return answer_lost(device);
    *go = true;
    return DUO_OK;
}

static duo_status leave(duo_status status)
{
    pthread_mutex_unlock(&lock);
    return status;
}

/* ---- Kernels: plain loops, no code of src/ ---- */

static float chain_libm(const float *a, int64_t a_step, const float *b, int64_t b_step, int64_t k)
{
    float sum = 0.0f;
    for (int64_t p = 0; p < k; p++) sum = fmaf(a[p * a_step], b[p * b_step], sum);
    return sum;
}

#if defined(__x86_64__)
__attribute__((target("fma"))) static float chain_fma(const float *a, int64_t a_step,
                                                      const float *b, int64_t b_step, int64_t k)
{
    float sum = 0.0f;
    for (int64_t p = 0; p < k; p++) sum = __builtin_fmaf(a[p * a_step], b[p * b_step], sum);
    return sum;
}
#endif

static float chain(const float *a, int64_t a_step, const float *b, int64_t b_step, int64_t k)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("fma")) return chain_fma(a, a_step, b, b_step, k);
#endif
    return chain_libm(a, a_step, b, b_step, k);
}

static double chain_float64(const float *a, int64_t a_step, const float *b, int64_t b_step,
                            int64_t k)
{
    double sum = 0.0;
    for (int64_t p = 0; p < k; p++) sum += (double)a[p * a_step] * (double)b[p * b_step];
    return sum;
}

static void run_sgemm(const work *w)
{
    const duo_call *call = &w->call;
    const bool float64 = duo_algorithm_serves(w->algorithm, DUO_MATH_FLOAT64);
    const duo_operand *a = &call->operand[DUO_A], *b = &call->operand[DUO_B];
    const duo_operand *c = &call->operand[DUO_C];
    const bool product = call->alpha != 0.0f && call->k > 0;
    const float *a_first = behind(a->address), *b_first = behind(b->address);
    float *c_first = behind(c->address);
    const int64_t a_row = call->transa ? a->ld : 1, a_step = call->transa ? 1 : a->ld;
    const int64_t b_column = call->transb ? 1 : b->ld, b_step = call->transb ? b->ld : 1;
    for (int64_t j = 0; j < call->n; j++) {
        for (int64_t i = 0; i < call->m; i++) {
            float *cell = c_first + i + j * c->ld;
            if (float64) { /* rounded once, at the end */
                double wide = 0.0;
                if (product)
                    wide = (double)call->alpha * chain_float64(a_first + i * a_row, a_step,
                                                               b_first + j * b_column, b_step,
                                                               call->k);
                if (call->beta != 0.0f) wide += (double)call->beta * (double)*cell;
                *cell = (float)wide;
                continue;
            }
            float value = 0.0f;
            if (product)
                value = call->alpha *
                        chain(a_first + i * a_row, a_step, b_first + j * b_column, b_step, call->k);
            if (call->beta != 0.0f) value = fmaf(call->beta, *cell, value);
            *cell = value;
        }
    }
}

static void run_reduction(const work *w, const duo_call *call)
{
    const duo_operand *x = &call->operand[DUO_X], *y = &call->operand[DUO_Y];
    const bool float64 = duo_algorithm_serves(w->algorithm, DUO_MATH_FLOAT64);
    float (*const reduce)(duo_operation, int64_t, const float *, int64_t, const float *, int64_t) =
        float64 ? reference_order_float64 : reference_order;
    const float sum = call->n > 0 ? reduce(call->operation, call->n, behind(x->address), x->ld,
                                           behind(y->address), y->ld)
                                  : 0.0f;
    if (w->pinned_result == NULL) {
        *(float *)behind(call->operand[DUO_RESULT].address) = sum;
        return;
    }
    uint32_t bits;
    memcpy(&bits, &sum, sizeof bits);
    __atomic_store_n(w->pinned_result, (uint64_t)w->ticket << 32 | bits, __ATOMIC_RELEASE);
}

/* ---- Workers ---- */

/* Do [low, high) belong to someone whom this device can reach? Needs the lock. */
static bool reachable(int device, uintptr_t low, uintptr_t high, bool any_device, bool plain,
                      const char *what)
{
    if (plain && !in_range((const void *)low)) return true;
    const block *b = block_around(low, high);
    if (b == NULL) {
        violation("%s: [%#jx, %#jx) is not in live device or pinned memory", what, (uintmax_t)low,
                  (uintmax_t)high);
        return false;
    }
    if (b->kind != BLOCK_PINNED && b->device != device && !any_device) {
        violation("%s: memory of device %d used on device %d", what, b->device, device);
        return false;
    }
    return true;
}

static uintptr_t copy_end(const char *first, size_t pitch, size_t width, size_t height)
{
    return (uintptr_t)first + (height - 1) * pitch + width;
}

static bool copy_legal(const work *w, int device)
{
    if (w->height > 1 && (w->dst_pitch < w->width || w->src_pitch < w->width)) {
        violation("copy: a pitch is smaller than the width");
        return false;
    }
    const bool dst =
        reachable(device, (uintptr_t)w->dst, copy_end(w->dst, w->dst_pitch, w->width, w->height),
                  true, w->plain, "copy to");
    const bool src =
        reachable(device, (uintptr_t)w->src, copy_end(w->src, w->src_pitch, w->width, w->height),
                  true, w->plain, "copy from");
    return dst && src;
}

static bool launch_legal(const work *w, int device)
{
    static const char *const name[DUO_OPERANDS] = {"operand a/x", "operand b/y",
                                                   "operand c/result"};
    bool legal = true;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const duo_operand *o = &w->call.operand[i];
        if ((!o->read && !o->written) || o->rows <= 0 || o->columns <= 0) continue;
        if (i == DUO_RESULT && w->pinned_result != NULL) continue;
        uintptr_t low, high;
        duo_operand_span(o, &low, &high);
        if (low % sizeof(float) != 0) {
            violation("launch: %s is not aligned to 4 bytes", name[i]);
            legal = false;
        }
        if (!reachable(device, low, high, false, false, name[i])) legal = false;
    }
    if (w->pinned_result != NULL) {
        const block *b =
            block_around((uintptr_t)w->pinned_result, (uintptr_t)(w->pinned_result + 1));
        if (b == NULL || b->kind != BLOCK_PINNED || (uintptr_t)w->pinned_result % 8 != 0) {
            violation("launch: the slot is not 8 aligned bytes of live pinned memory");
            legal = false;
        }
    }
    return legal;
}

static void destroy_outputs(const work *w)
{
    if (w->kind == WORK_COPY) {
        for (size_t r = 0; r < w->height; r++)
            memset((char *)behind(w->dst) + r * w->dst_pitch, 0xfe, w->width);
        return;
    }
    const duo_operand *c = &w->call.operand[DUO_C];
    if (w->pinned_result != NULL || !c->written) return;
    char *first = behind(c->address);
    for (int64_t j = 0; j < c->columns; j++)
        memset(first + j * c->ld * 4, 0xfe, (size_t)c->rows * 4);
}

static void carry_out(const work *w)
{
    if (w->kind == WORK_COPY) {
        for (size_t r = 0; r < w->height; r++)
            memmove((char *)behind(w->dst) + r * w->dst_pitch,
                    (const char *)behind(w->src) + r * w->src_pitch, w->width);
    } else if (w->kind == WORK_LAUNCH) {
        if (w->call.operation == DUO_SGEMM)
            run_sgemm(w);
        else
            run_reduction(w, &w->call);
    }
}

static void sleep_at_random(duo_queue *queue, int microseconds)
{
    queue->random = queue->random * 6364136223846793005u + 1442695040888963407u;
    const long nanoseconds = (long)((queue->random >> 33) % (uint64_t)microseconds) * 1000;
    nanosleep(&(struct timespec){nanoseconds / 1000000000, nanoseconds % 1000000000}, NULL);
}

/* One operation, from the head of the queue; has the lock, and gives it up while it works. */
static void step(duo_queue *queue)
{
    work *w = queue->first;
    queue->first = w->next;
    if (queue->first == NULL) queue->last = &queue->first;
    if (w->kind == WORK_AFTER) {
        while (w->earlier->done < w->target && !sim.lost[queue->device])
            pthread_cond_wait(&changed, &lock);
        if (--w->earlier->references == 0) free(w->earlier);
    } else if (!sim.lost[queue->device]) {
        const int delay = sim.delay_microseconds;
        if (delay > 0) {
            pthread_mutex_unlock(&lock);
            sleep_at_random(queue, delay);
            pthread_mutex_lock(&lock);
        }
        const bool legal =
            w->kind == WORK_COPY ? copy_legal(w, queue->device) : launch_legal(w, queue->device);
        const bool fails = w->fails;
        if (fails) sim.lost[queue->device] = true;
        if (legal && (!fails || w->garbage)) {
            pthread_mutex_unlock(&lock);
            if (fails)
                destroy_outputs(w);
            else
                carry_out(w);
            pthread_mutex_lock(&lock);
        }
    }
    free(w);
    queue->progress->done++;
    pthread_cond_broadcast(&changed);
}

static void *work_on(void *argument)
{
    duo_queue *queue = argument;
    pthread_mutex_lock(&lock);
    for (;;) {
        const bool stopped = sim.hold && !sim.lost[queue->device];
        if (queue->first != NULL && !stopped)
            step(queue);
        else if (queue->first == NULL && queue->closing)
            break;
        else
            pthread_cond_wait(&changed, &lock);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* Appends a copy of an operation; needs the lock. */
static duo_status append(duo_queue *queue, const work *what)
{
    work *w = malloc(sizeof *w);
    if (w == NULL) return DUO_ERR_DEVICE;
    *w = *what;
    w->next = NULL;
    if (w->kind != WORK_AFTER && sim.async_nth > 0 && --sim.async_nth == 0) {
        w->fails = true;
        w->garbage = sim.async_garbage;
    }
    *queue->last = w;
    queue->last = &w->next;
    queue->progress->queued++;
    pthread_cond_broadcast(&changed);
    return DUO_OK;
}

/* ---- The backend ---- */

static duo_status backend_count(int *count)
{
    pthread_mutex_lock(&lock);
    sim.count[SIM_COUNT]++;
    if (sim.owner == 0) sim.owner = getpid();
    *count = sim.devices;
    order *o = &sim.order[SIM_COUNT];
    duo_status status = DUO_OK;
    if (o->nth > 0 && --o->nth == 0) {
        if (o->times > 0) o->times--;
        o->nth = o->times != 0;
        status = o->status;
        *count = 0;
        say("simulated driver: told to answer %d", (int)o->status);
    } else if (sim.devices == 0) {
        say("simulated driver: no device");
    }
    return leave(status);
}

static duo_status backend_describe(int device, duo_device_info *info)
{
    pthread_mutex_lock(&lock);
    if (device < 0 || device >= sim.devices) {
        violation("describe: device %d of %d", device, sim.devices);
        return leave(DUO_ERR_DEVICE);
    }
    if (sim.lost[device]) return leave(answer_lost(device));
    const size_t size = info->size;
    *info = (duo_device_info){.size = size,
                              .name = "Simulated GPU",
                              .capability_major = 9,
                              .multiprocessors = 2,
                              .memory_bytes = sim.memory,
                              .memory_free_bytes = sim.memory - used_bytes(device, false),
                              .driver_version = 13000,
                              .clock_khz = 1000000,
                              .memory_clock_khz = 1000000,
                              .memory_bus_bits = 64};
    return leave(DUO_OK);
}

static duo_status backend_load(int device)
{
    if (forked()) return DUO_ERR_LOST;
    bool go;
    return leave(enter(SIM_LOAD, device, &go));
}

static duo_status backend_allocate(int device, size_t bytes, void **address)
{
    if (forked()) return DUO_ERR_LOST;
    bool go;
    duo_status status = enter(SIM_ALLOCATE, device, &go);
    if (go && bytes == 0) {
        violation("allocate: 0 bytes");
        status = DUO_ERR_DEVICE;
    } else if (go) {
        status = take_device_memory(device, bytes, BLOCK_DEVICE, address);
    }
    return leave(status);
}

static duo_status backend_release(int device, void *address)
{
    if (forked()) return DUO_ERR_LOST;
    bool go;
    duo_status status = enter(SIM_RELEASE, device, &go);
    if (!go) return leave(status);
    while (!drained(device)) pthread_cond_wait(&changed, &lock);
    const int index = find_block(address, BLOCK_DEVICE);
    if (index < 0 || sim.block[index].device != device) {
        violation("release: %p is no live allocation of device %d", address, device);
        return leave(DUO_ERR_DEVICE);
    }
    drop_block(index);
    return leave(sim.lost[device] ? answer_lost(device) : DUO_OK);
}

static duo_status backend_pin(int device, size_t bytes, void **address)
{
    if (forked()) return DUO_ERR_LOST;
    bool go;
    const duo_status status = enter(SIM_PIN, device, &go);
    if (!go) return leave(status);
    const uint64_t used = used_bytes(0, true);
    if (bytes == 0) {
        violation("pin: 0 bytes");
        return leave(DUO_ERR_DEVICE);
    }
    if (bytes > sim.pinned_memory || used > sim.pinned_memory - bytes) {
        say("simulated device %d: cannot pin so much", device);
        return leave(DUO_ERR_MEMORY);
    }
    void *memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (memory == NULL) return leave(DUO_ERR_MEMORY);
    memset(memory, 0xff, bytes < POISON_BYTES ? bytes : POISON_BYTES);
    add_block((uintptr_t)memory, bytes, device, BLOCK_PINNED);
    *address = memory;
    return leave(DUO_OK);
}

static duo_status backend_unpin(void *address)
{
    if (forked()) return DUO_ERR_LOST;
    pthread_mutex_lock(&lock);
    sim.count[SIM_UNPIN]++;
    for (int d = 0; d < SIM_DEVICES && sim.wait_failed; d++)
        while (!drained(d)) pthread_cond_wait(&changed, &lock);
    const int index = find_block(address, BLOCK_PINNED);
    if (index < 0) {
        violation("unpin: %p is not pinned", address);
        return leave(DUO_ERR_DEVICE);
    }
    drop_block(index);
    return leave(DUO_OK);
}

static duo_status backend_classify(const void *address, duo_memory *memory)
{
    if (forked()) return DUO_ERR_LOST;
    bool go;
    const duo_status status = enter(SIM_CLASSIFY, 0, &go);
    if (!go) return leave(status);
    const block *b = block_around((uintptr_t)address, (uintptr_t)address + 1);
    *memory = b == NULL                 ? DUO_MEMORY_HOST
              : b->kind == BLOCK_PINNED ? DUO_MEMORY_PINNED
                                        : DUO_MEMORY_DEVICE;
    return leave(DUO_OK);
}

static duo_status backend_open(int device, void *stream, duo_queue **queue)
{
    if (forked()) return DUO_ERR_LOST;
    bool go;
    const duo_status status = enter(SIM_OPEN, device, &go);
    if (!go) return leave(status);
    duo_queue *q = calloc(1, sizeof *q);
    progress *p = calloc(1, sizeof *p);
    if (q == NULL || p == NULL) abort();
    p->references = 1;
    q->device = device;
    q->stream = stream;
    q->last = &q->first;
    q->progress = p;
    q->random = sim.count[SIM_OPEN];
    q->next = sim.queues;
    sim.queues = q;
    if (pthread_create(&q->worker, NULL, work_on, q) != 0) abort();
    *queue = q;
    return leave(DUO_OK);
}

static duo_status backend_close(duo_queue *queue)
{
    if (forked()) return DUO_ERR_LOST;
    bool go;
    duo_status status = enter(SIM_CLOSE, queue->device, &go);
    queue->closing = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    pthread_join(queue->worker, NULL);

    pthread_mutex_lock(&lock);
    duo_queue **link = &sim.queues;
    while (*link != queue) link = &(*link)->next;
    *link = queue->next;
    if (--queue->progress->references == 0) free(queue->progress);
    if (status == DUO_OK && sim.lost[queue->device]) status = answer_lost(queue->device);
    free(queue);
    return leave(status);
}

static void *backend_stream(duo_queue *queue) { return queue->stream; }

/* Has the lock. */
static duo_status append_copy(duo_queue *queue, void *dst, size_t dst_pitch, const void *src,
                              size_t src_pitch, size_t width, size_t height, bool plain)
{
    if (width == 0 || height == 0) return DUO_OK;
    const work w = {.kind = WORK_COPY,
                    .plain = plain,
                    .dst = dst,
                    .src = src,
                    .dst_pitch = dst_pitch,
                    .src_pitch = src_pitch,
                    .width = width,
                    .height = height};
    if (!copy_legal(&w, queue->device)) return DUO_ERR_DEVICE;
    if (in_range(dst) && !in_range(src)) sim.uploaded += width * height;
    if (in_range(src) && !in_range(dst)) sim.downloaded += width * height;
    return append(queue, &w);
}

static duo_status backend_copy(duo_queue *queue, void *dst, size_t dst_pitch, const void *src,
                               size_t src_pitch, size_t width, size_t height)
{
    if (forked()) return DUO_ERR_LOST;
    bool go;
    duo_status status = enter(SIM_COPY, queue->device, &go);
    if (go) status = append_copy(queue, dst, dst_pitch, src, src_pitch, width, height, false);
    return leave(status);
}

/* The GPU row of an operation by its number, or NULL. */
static const duo_algorithm *gpu_algorithm(duo_operation operation, duo_algorithm_id id)
{
    const duo_algorithm_table table = duo_algorithm_tables[operation];
    for (int i = 0; i < table.count; i++)
        if (table.algorithm[i].id == id && table.algorithm[i].side == DUO_SIDE_GPU)
            return &table.algorithm[i];
    return NULL;
}

/* Every simulated row of sgemm has a form, so that it is met often: a compact copy, which is all that
 * the row then reads. */
static size_t backend_packed_bytes(duo_algorithm_id row, const duo_call *call, int i)
{
    const duo_operand *const o = &call->operand[i];
    if (gpu_algorithm(DUO_SGEMM, row) == NULL || i == DUO_C) return 0;
    return (size_t)o->rows * (size_t)o->columns * sizeof(float);
}

static duo_status backend_pack(duo_queue *queue, duo_algorithm_id row, const duo_call *call, int i,
                               void *memory)
{
    if (forked()) return DUO_ERR_LOST;
    bool go;
    const duo_status status = enter(SIM_PACK, queue->device, &go);
    if (!go) return leave(status);
    const duo_operand *const o = &call->operand[i];
    if (backend_packed_bytes(row, call, i) == 0) {
        violation("form: row %d has none of operand %d", (int)row, i);
        return leave(DUO_ERR_DEVICE);
    }
    const work w = {.kind = WORK_COPY,
                    .dst = memory,
                    .src = (const char *)o->address,
                    .dst_pitch = (size_t)o->rows * sizeof(float),
                    .src_pitch = (size_t)o->ld * sizeof(float),
                    .width = (size_t)o->rows * sizeof(float),
                    .height = (size_t)o->columns};
    if (!copy_legal(&w, queue->device)) return leave(DUO_ERR_DEVICE);
    return leave(append(queue, &w));
}

/* What a row reads of an operand that has a form. */
static duo_operand formed(const duo_operand *o)
{
    duo_operand f = *o;
    f.address = f.packed;
    f.ld = f.rows;
    return f;
}

static duo_status backend_launch(duo_queue *queue, duo_algorithm_id id, const duo_call *call,
                                 uint64_t *slot, uint32_t ticket)
{
    if (forked()) return DUO_ERR_LOST;
    bool go;
    const duo_status status = enter(SIM_LAUNCH, queue->device, &go);
    if (!go) return leave(status);
    const duo_algorithm *const row = gpu_algorithm(call->operation, id);
    if (row == NULL) {
        violation("launch: row %d does not do operation %d on a GPU", (int)id,
                  (int)call->operation);
        return leave(DUO_ERR_DEVICE);
    }
    work w = {.kind = WORK_LAUNCH,
              .call = *call,
              .algorithm = row,
              .pinned_result = slot,
              .ticket = ticket};
    for (int i = 0; i < DUO_OPERANDS; i++) {
        duo_operand *const o = &w.call.operand[i];
        if (o->packed == NULL) continue;
        if (backend_packed_bytes(id, call, i) == 0)
            violation("launch: row %d has no form", (int)id);
        *o = formed(o);
    }
    if (!launch_legal(&w, queue->device)) return leave(DUO_ERR_DEVICE);
    sim.last_algorithm = id;
    return leave(append(queue, &w));
}

/* Simulated rows need no workspace. */
static duo_status backend_trim(duo_queue *queue)
{
    (void)queue;
    return DUO_OK;
}

static duo_status backend_mark(duo_queue *queue, int mark)
{
    if (forked()) return DUO_ERR_LOST;
    bool go;
    duo_status status = enter(SIM_MARK, queue->device, &go);
    if (go && (mark < 0 || mark >= DUO_MARKS)) {
        violation("mark %d", mark);
        status = DUO_ERR_DEVICE;
    } else if (go) {
        queue->mark[mark] = queue->progress->queued;
    }
    return leave(status);
}

/* Waits for the queue to be past a point; has the lock. */
static duo_status wait_for(duo_queue *queue, uint64_t target)
{
    while (queue->progress->done < target) pthread_cond_wait(&changed, &lock);
    return sim.lost[queue->device] ? answer_lost(queue->device) : DUO_OK;
}

static duo_status backend_copy_now(duo_queue *queue, void *dst, size_t dst_pitch, const void *src,
                                   size_t src_pitch, size_t width, size_t height)
{
    if (forked()) return DUO_ERR_LOST;
    bool go;
    duo_status status = enter(SIM_COPY, queue->device, &go);
    if (go) status = append_copy(queue, dst, dst_pitch, src, src_pitch, width, height, true);
    if (go && status == DUO_OK) status = wait_for(queue, queue->progress->queued);
    return leave(status);
}

static duo_status backend_wait_mark(duo_queue *queue, int mark)
{
    if (forked()) return DUO_ERR_LOST;
    bool go;
    duo_status status = enter(SIM_WAIT, queue->device, &go);
    if (go && (mark < 0 || mark >= DUO_MARKS)) {
        violation("wait_mark %d", mark);
        status = DUO_ERR_DEVICE;
    } else if (go) {
        status = wait_for(queue, queue->mark[mark]);
    }
    return leave(status);
}

static duo_status backend_finish(duo_queue *queue)
{
    if (forked()) return DUO_ERR_LOST;
    bool go;
    duo_status status = enter(SIM_WAIT, queue->device, &go);
    if (go) status = wait_for(queue, queue->progress->queued);
    return leave(status);
}

static duo_status backend_idle(duo_queue *queue, bool *idle)
{
    if (forked()) return DUO_ERR_LOST;
    bool go;
    const duo_status status = enter(SIM_IDLE, queue->device, &go);
    if (go) *idle = queue->progress->done == queue->progress->queued;
    return leave(status);
}

static duo_status backend_after(duo_queue *later, duo_queue *earlier)
{
    if (forked()) return DUO_ERR_LOST;
    bool go;
    const duo_status status = enter(SIM_AFTER, later->device, &go);
    if (!go) return leave(status);
    if (sim.lost[earlier->device]) return leave(answer_lost(earlier->device));
    earlier->progress->references++;
    const work w = {
        .kind = WORK_AFTER, .earlier = earlier->progress, .target = earlier->progress->queued};
    return leave(append(later, &w));
}

static const char *backend_detail(void) { return detail_text; }

const duo_backend *sim_backend(void)
{
    static const duo_backend backend = {
        .name = "simulated",
        .count = backend_count,
        .describe = backend_describe,
        .load = backend_load,
        .allocate = backend_allocate,
        .release = backend_release,
        .pin = backend_pin,
        .unpin = backend_unpin,
        .classify = backend_classify,
        .open = backend_open,
        .close = backend_close,
        .stream = backend_stream,
        .copy = backend_copy,
        .copy_now = backend_copy_now,
        .launch = backend_launch,
        .packed_bytes = backend_packed_bytes,
        .pack = backend_pack,
        .trim = backend_trim,
        .mark = backend_mark,
        .wait_mark = backend_wait_mark,
        .finish = backend_finish,
        .idle = backend_idle,
        .after = backend_after,
        .detail = backend_detail,
    };
    return &backend;
}

/* ---- Controls ---- */

void sim_reset(void)
{
    pthread_mutex_lock(&lock);
    sim.hold = false;
    pthread_cond_broadcast(&changed);
    for (int d = 0; d < SIM_DEVICES; d++)
        while (!drained(d)) pthread_cond_wait(&changed, &lock);
    sim.devices = 1;
    memset(sim.lost, 0, sizeof sim.lost);
    sim.memory = (uint64_t)1 << 30;
    sim.pinned_memory = UNLIMITED;
    sim.delay_microseconds = 0;
    memset(sim.order, 0, sizeof sim.order);
    sim.async_nth = 0;
    memset(sim.count, 0, sizeof sim.count);
    sim.uploaded = sim.downloaded = 0;
    sim.last_algorithm = DUO_ALGORITHMS;
    sim.violations = 0;
    sim.wait_failed = false;
    pthread_mutex_unlock(&lock);
}

void sim_set_devices(int count)
{
    pthread_mutex_lock(&lock);
    sim.devices = count < SIM_DEVICES ? count : SIM_DEVICES;
    pthread_mutex_unlock(&lock);
}

void sim_set_memory(uint64_t bytes)
{
    pthread_mutex_lock(&lock);
    sim.memory = bytes;
    pthread_mutex_unlock(&lock);
}

void sim_set_pinned(uint64_t bytes)
{
    pthread_mutex_lock(&lock);
    sim.pinned_memory = bytes;
    pthread_mutex_unlock(&lock);
}

void sim_set_delay(int microseconds)
{
    pthread_mutex_lock(&lock);
    sim.delay_microseconds = microseconds;
    pthread_mutex_unlock(&lock);
}

void sim_hold(bool hold)
{
    pthread_mutex_lock(&lock);
    sim.hold = hold;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

void sim_fail(sim_kind kind, int nth, duo_status status, int times)
{
    pthread_mutex_lock(&lock);
    sim.order[kind] = (order){nth, times, status};
    pthread_mutex_unlock(&lock);
}

void sim_fail_async(int nth, bool garbage)
{
    pthread_mutex_lock(&lock);
    sim.async_nth = nth;
    sim.async_garbage = garbage;
    pthread_mutex_unlock(&lock);
}

void sim_lose(int device)
{
    pthread_mutex_lock(&lock);
    answer_lost(device);
    pthread_mutex_unlock(&lock);
}

/* ---- What happened ---- */

uint64_t sim_count(sim_kind kind)
{
    pthread_mutex_lock(&lock);
    const uint64_t count = sim.count[kind];
    pthread_mutex_unlock(&lock);
    return count;
}

uint64_t sim_uploaded_bytes(void)
{
    pthread_mutex_lock(&lock);
    const uint64_t bytes = sim.uploaded;
    pthread_mutex_unlock(&lock);
    return bytes;
}

uint64_t sim_downloaded_bytes(void)
{
    pthread_mutex_lock(&lock);
    const uint64_t bytes = sim.downloaded;
    pthread_mutex_unlock(&lock);
    return bytes;
}

duo_algorithm_id sim_last_algorithm(void)
{
    pthread_mutex_lock(&lock);
    const duo_algorithm_id row = sim.last_algorithm;
    pthread_mutex_unlock(&lock);
    return row;
}

int sim_violations(void)
{
    if (in_child()) return sim.violations;
    pthread_mutex_lock(&lock);
    const int violations = sim.violations;
    pthread_mutex_unlock(&lock);
    return violations;
}

int sim_leaks(void)
{
    pthread_mutex_lock(&lock);
    int leaks = 0;
    for (int i = 0; i < sim.blocks; i++)
        leaks += sim.block[i].kind != BLOCK_FOREIGN && !sim.block[i].gone;
    for (const duo_queue *q = sim.queues; q != NULL; q = q->next) leaks++;
    pthread_mutex_unlock(&lock);
    return leaks;
}

uint64_t sim_allocated_bytes(int device)
{
    pthread_mutex_lock(&lock);
    const uint64_t bytes = used_bytes(device, false);
    pthread_mutex_unlock(&lock);
    return bytes;
}

/* ---- Device memory that the library does not know ---- */

void *sim_foreign_malloc(int device, size_t bytes)
{
    void *address = NULL;
    pthread_mutex_lock(&lock);
    if (sim.owner == 0) sim.owner = getpid();
    take_device_memory(device, bytes, BLOCK_FOREIGN, &address);
    pthread_mutex_unlock(&lock);
    return address;
}

void sim_foreign_free(void *address)
{
    pthread_mutex_lock(&lock);
    const int index = find_block(address, BLOCK_FOREIGN);
    if (index < 0)
        violation("foreign free: %p is no live allocation", address);
    else
        drop_block(index);
    pthread_mutex_unlock(&lock);
}

void sim_read(void *host, const void *device_address, size_t bytes)
{
    memcpy(host, behind(device_address), bytes);
}

void sim_write(void *device_address, const void *host, size_t bytes)
{
    memcpy(behind(device_address), host, bytes);
}

bool sim_is_device(const void *address)
{
    pthread_mutex_lock(&lock);
    const bool device = in_range(address);
    pthread_mutex_unlock(&lock);
    return device;
}
