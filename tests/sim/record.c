/* record.c - the simulated device behind the backend's table: recorded work (record.h). */
#include "sim/record.h"

#include "sim/backend.h"
#include "sim/timing.h"

#include <stdlib.h>

enum { MOST_QUEUES = 32 };

/* An operation of a queue, or a wait of the queue for an earlier step. */
typedef struct step {
    duo_queue *queue;
    work work; /* WORK_AFTER: target is the number of the step, UINT64_MAX: the beginning */
} step;

struct duo_recorded {
    int device, steps, room, queues;
    duo_queue *queue[MOST_QUEUES]; /* [0]: where recording began; the others joined */
    bool joined[MOST_QUEUES];      /* does queue[0] follow all work of this one? */
    step *step;
};

/* ---- Recording ---- */

static int index_of(const duo_recorded *r, const duo_queue *queue)
{
    for (int i = 0; i < r->queues; i++)
        if (r->queue[i] == queue) return i;
    return -1;
}

duo_status sim_record(duo_queue *queue, const work *what)
{
    duo_recorded *const r = queue->recording;
    if (r->steps == r->room) {
        r->room = r->room > 0 ? 2 * r->room : 64;
        r->step = realloc(r->step, (size_t)r->room * sizeof *r->step);
        if (r->step == NULL) abort();
    }
    r->step[r->steps++] = (step){queue, *what};
    r->joined[index_of(r, queue)] = false;
    return DUO_OK;
}

int sim_recorded_step(const duo_queue *queue)
{
    const duo_recorded *const r = queue->recording;
    for (int i = r->steps - 1; i >= 0; i--)
        if (r->step[i].queue == queue) return i;
    return -1;
}

duo_status sim_record_after(duo_queue *later, duo_recorded *recording, int at)
{
    if (later->recording != NULL && later->recording != recording) {
        sim_violation("a queue follows two recordings");
        return DUO_ERR_DEVICE;
    }
    if (later->recording == NULL) {
        if (recording->queues == MOST_QUEUES) abort();
        later->recording = recording;
        recording->queue[recording->queues++] = later;
    }
    const work w = {.kind = WORK_AFTER, .target = at < 0 ? UINT64_MAX : (uint64_t)at};
    const duo_status status = sim_record(later, &w);
    if (later == recording->queue[0] && at >= 0) { /* all of the earlier queue up to that step */
        const duo_queue *const earlier = recording->step[at].queue;
        bool all = true;
        for (int i = at + 1; i < recording->steps; i++) all &= recording->step[i].queue != earlier;
        recording->joined[index_of(recording, earlier)] = all;
    }
    return status;
}

duo_status sim_backend_reserve(duo_queue *queue, duo_algorithm_id id, const duo_call *call)
{
    (void)id, (void)call;
    if (sim_forked()) return DUO_ERR_LOST;
    if (queue->recording != NULL) sim_violation("memory is reserved in a recording");
    return DUO_OK;
}

/* Simulated algorithms take the whole device. */
void sim_backend_share(duo_queue *queue, double part)
{
    (void)queue;
    if (!(part > 0.0 && part <= 1.0)) sim_violation("share: a part of %g", part);
}

duo_status sim_backend_record_begin(duo_queue *queue)
{
    if (sim_forked()) return DUO_ERR_LOST;
    bool go;
    const duo_status status = sim_enter(SIM_RECORD, queue->device, &go);
    if (!go) return sim_leave(status);
    if (queue->recording != NULL) sim_violation("it records already");
    duo_recorded *const r = calloc(1, sizeof *r);
    if (r == NULL) abort();
    r->device = queue->device;
    r->queue[r->queues++] = queue;
    queue->recording = r;
    sim.recorded++;
    return sim_leave(DUO_OK);
}

static void free_recorded(duo_recorded *r)
{
    free(r->step);
    free(r);
    sim.recorded--;
}

duo_status sim_backend_record_end(duo_queue *queue, duo_recorded **recorded)
{
    if (sim_forked()) return DUO_ERR_LOST;
    bool go;
    duo_status status = sim_enter(SIM_RECORD, queue->device, &go);
    duo_recorded *const r = queue->recording;
    if (r == NULL || r->queue[0] != queue) {
        sim_violation("no recording began in this queue");
        return sim_leave(DUO_ERR_DEVICE);
    }
    for (int i = 0; i < r->queues; i++) {
        r->queue[i]->recording = NULL;
        if (i > 0 && !r->joined[i] && status == DUO_OK) {
            sim_say("a queue that records was not followed");
            status = DUO_ERR_DEVICE;
        }
    }
    if (status == DUO_OK && *recorded != NULL) free_recorded(*recorded);
    if (status == DUO_OK)
        *recorded = r;
    else
        free_recorded(r);
    return sim_leave(status);
}

void sim_backend_forget(duo_recorded *recorded)
{
    if (sim_forked()) return;
    pthread_mutex_lock(&sim_lock);
    free_recorded(recorded);
    pthread_mutex_unlock(&sim_lock);
}

/* ---- Replays ---- */

static duo_status follow(duo_queue *later, duo_queue *earlier, sim_mark place)
{
    if (later == earlier) return DUO_OK;
    const work w = {.kind = WORK_AFTER, .earlier = earlier->progress, .target = place.queued};
    earlier->progress->references++;
    sim_timing_follow(later, place.clock);
    return sim_append(later, &w);
}

duo_status sim_backend_replay(duo_queue *queue, duo_recorded *r)
{
    if (sim_forked()) return DUO_ERR_LOST;
    bool go;
    duo_status status = sim_enter(SIM_REPLAY, queue->device, &go);
    if (!go) return sim_leave(status);
    if (queue->recording != NULL || queue->device != r->device) {
        sim_violation("a replay in a recording, or on another device");
        return sim_leave(DUO_ERR_DEVICE);
    }
    const sim_mark begin = sim_here(queue);
    sim_mark *const behind = calloc((size_t)r->steps + 1, sizeof *behind);
    if (behind == NULL) abort();
    for (int i = 0; i < r->queues; i++) (void)follow(r->queue[i], queue, begin);
    for (int i = 0; i < r->steps && status == DUO_OK; i++) {
        const step *const s = &r->step[i];
        if (s->work.kind != WORK_AFTER)
            status = sim_append(s->queue, &s->work);
        else if (s->work.target != UINT64_MAX)
            status = follow(s->queue, r->step[s->work.target].queue, behind[s->work.target]);
        behind[i] = sim_here(s->queue);
    }
    for (int i = 0; i < r->queues; i++) (void)follow(queue, r->queue[i], sim_here(r->queue[i]));
    free(behind);
    return sim_leave(status);
}
