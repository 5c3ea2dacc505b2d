/*
 * worker.c - the thread of a queue, which carries out its work; see worker.h.
 */
#define _GNU_SOURCE
#include "sim/worker.h"

#include "sim/checks.h"
#include "sim/kernels.h"
#include "sim/memory.h"
#include "sim/record.h"
#include "sim/timing.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static void destroy_outputs(const work *w)
{
    if (w->kind == WORK_COPY) {
        for (size_t r = 0; r < w->height; r++)
            memset((char *)sim_behind(w->dst) + r * w->dst_pitch, 0xfe, w->width);
        return;
    }
    if (w->call.unrounded != NULL) memset(sim_behind(w->call.unrounded), 0xfe, sizeof(double));
    const duo_operand *c = &w->call.operand[DUO_C];
    if (w->pinned_result != NULL || !c->written) return;
    char *first = sim_behind(c->address);
    for (int64_t j = 0; j < c->columns; j++)
        memset(first + j * c->ld * 4, 0xfe, (size_t)c->rows * 4);
}

bool sim_errs(void) { return sim.err_nth > 0 && --sim.err_nth == 0; }

static void run_product(const work *w)
{
    sim_run_sgemm(w);
    if (sim_errs()) ((unsigned char *)sim_behind(w->call.operand[DUO_C].address))[3] ^= 0x40;
}

static void carry_out(const work *w)
{
    if (w->kind == WORK_COPY && w->fills) {
        for (size_t r = 0; r < w->height; r++)
            memset((char *)sim_behind(w->dst) + r * w->dst_pitch, w->value, w->width);
    } else if (w->kind == WORK_COPY && w->key != NULL) {
        for (size_t r = 0; r < w->height; r++)
            sim_tag((uint64_t *)sim_behind(w->dst) + 2 * r,
                    (const char *)sim_behind(w->src) + r * w->src_pitch, sim_behind(w->key));
    } else if (w->kind == WORK_COPY && w->product.x != NULL) {
        sim_freivalds_multiply(&w->product);
    } else if (w->kind == WORK_COPY && w->rows.rows > 0) {
        sim_freivalds_compare(&w->rows, w->wrong, w->ticket);
    } else if (w->kind == WORK_COPY) {
        for (size_t r = 0; r < w->height; r++)
            memmove((char *)sim_behind(w->dst) + r * w->dst_pitch,
                    (const char *)sim_behind(w->src) + r * w->src_pitch, w->width);
    } else if (w->kind == WORK_LAUNCH) {
        if (w->call.operation == DUO_SGEMM)
            run_product(w);
        else
            sim_run_reduction(w, &w->call);
    }
}

static void sleep_at_random(duo_queue *queue, int microseconds)
{
    queue->random = queue->random * 6364136223846793005u + 1442695040888963407u;
    const long nanoseconds = (long)((queue->random >> 33) % (uint64_t)microseconds) * 1000;
    nanosleep(&(struct timespec){nanoseconds / 1000000000, nanoseconds % 1000000000}, NULL);
}

/* False: the work is dropped. Its device is lost, or a copy is to or from a lost device; then the
 * copy's queue is not told. */
static bool can_run(const work *w, int device)
{
    return !sim.lost[device] && (w->kind != WORK_COPY || sim_copy_lost(w) < 0);
}

/* Reads the addresses of operands that are in lists on the device. */
static void read_lists(work *w)
{
    for (int i = 0; i < DUO_OPERANDS; i++) {
        if (w->list[i] == NULL) continue;
        float *const *const at = sim_behind(w->list[i]);
        w->call.operand[i].address = (float *)((uintptr_t)*at + (uintptr_t)w->shift[i]);
        w->list[i] = NULL;
    }
}

/* A copy or launch; has the lock, and gives it up while it works. */
static void operate(duo_queue *queue, work *w)
{
    const int delay = can_run(w, queue->device) ? sim.delay_microseconds : 0;
    if (delay > 0) {
        pthread_mutex_unlock(&sim_lock);
        sleep_at_random(queue, delay);
        pthread_mutex_lock(&sim_lock);
    }
    if (!can_run(w, queue->device)) return;
    if (w->kind == WORK_LAUNCH && sim_launch_legal(w, queue->device)) read_lists(w);
    const bool legal = w->kind == WORK_COPY ? sim_copy_legal(w, queue->device)
                                            : sim_launch_legal(w, queue->device);
    if (w->fails) sim.lost[queue->device] = true;
    if (!legal || (w->fails && !w->garbage)) return;
    pthread_mutex_unlock(&sim_lock);
    if (w->fails)
        destroy_outputs(w);
    else
        carry_out(w);
    pthread_mutex_lock(&sim_lock);
}

/* The operation at the head of the queue; has the lock. */
static void step(duo_queue *queue)
{
    work *w = queue->first;
    queue->first = w->next;
    if (queue->first == NULL) queue->last = &queue->first;
    if (w->kind == WORK_AFTER) {
        while (w->earlier->done < w->target && !sim.lost[queue->device])
            pthread_cond_wait(&sim_changed, &sim_lock);
        if (--w->earlier->references == 0) free(w->earlier);
    } else {
        operate(queue, w);
    }
    free(w);
    queue->progress->done++;
    pthread_cond_broadcast(&sim_changed);
}

void *sim_work_on(void *argument)
{
    duo_queue *queue = argument;
    pthread_mutex_lock(&sim_lock);
    for (;;) {
        const bool stopped = sim.hold && !sim.lost[queue->device];
        if (queue->first != NULL && !stopped)
            step(queue);
        else if (queue->first == NULL && queue->closing)
            break;
        else
            pthread_cond_wait(&sim_changed, &sim_lock);
    }
    pthread_mutex_unlock(&sim_lock);
    return NULL;
}

static void count_bytes(const work *w)
{
    const bool to = sim_in_range(w->dst), from = sim_in_range(w->src);
    if (to && !from) sim.uploaded += w->width * w->height;
    if (from && !to) sim.downloaded += w->width * w->height;
}

duo_status sim_append(duo_queue *queue, const work *what)
{
    duo_queue *const captured = queue->stream != NULL ? sim_queue_of(queue->stream) : queue;
    if (captured != NULL && captured->recording != NULL) return sim_record(captured, what);
    work *w = malloc(sizeof *w);
    if (w == NULL) return DUO_ERR_DEVICE;
    *w = *what;
    w->next = NULL;
    if (w->kind != WORK_AFTER && sim.async_nth > 0 && --sim.async_nth == 0) {
        w->fails = true;
        w->garbage = sim.async_garbage;
    }
    if (w->kind != WORK_AFTER) sim_timing_queued(queue, w);
    if (w->kind == WORK_COPY) count_bytes(w);
    *queue->last = w;
    queue->last = &w->next;
    queue->progress->queued++;
    pthread_cond_broadcast(&sim_changed);
    return DUO_OK;
}
