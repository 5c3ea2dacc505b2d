/*
 * backend_wait.c - the simulated device behind the backend's table: marks in queues, and waits for
 * them.
 */
#include "sim/backend.h"

#include "sim/timing.h"

#include <stdlib.h>

sim_mark sim_here(const duo_queue *queue)
{
    return (sim_mark){true, queue->progress->queued, queue->clock};
}

duo_status sim_wait_for(duo_queue *queue, sim_mark place)
{
    sim_must_not_wait(queue, "wait");
    while (queue->progress->done < place.queued) pthread_cond_wait(&sim_changed, &sim_lock);
    sim_timing_waited(place.clock);
    return sim.lost[queue->device] ? sim_answer_lost(queue->device) : DUO_OK;
}

duo_status sim_backend_mark(duo_queue *queue, int mark)
{
    if (sim_forked()) return DUO_ERR_LOST;
    bool go;
    duo_status status = sim_enter(SIM_MARK, queue->device, &go);
    if (go && (mark < 0 || mark >= DUO_MARKS)) {
        sim_violation("mark %d", mark);
        status = DUO_ERR_DEVICE;
    } else if (go) {
        sim_must_not_wait(queue, "mark");
        queue->mark[mark] = sim_here(queue);
    }
    return sim_leave(status);
}

/* Was that mark set? A violation if not; has the lock. */
static bool mark_is_set(const duo_queue *queue, int mark, const char *who)
{
    const bool set = mark >= 0 && mark < DUO_MARKS && queue->mark[mark].set;
    if (!set) sim_violation("%s: mark %d was never set", who, mark);
    return set;
}

duo_status sim_backend_wait_mark(duo_queue *queue, int mark)
{
    if (sim_forked()) return DUO_ERR_LOST;
    bool go;
    duo_status status = sim_enter(SIM_WAIT, queue->device, &go);
    if (go)
        status = mark_is_set(queue, mark, "wait_mark") ? sim_wait_for(queue, queue->mark[mark])
                                                       : DUO_ERR_DEVICE;
    return sim_leave(status);
}

duo_status sim_backend_passed(duo_queue *queue, int mark, bool *passed)
{
    if (sim_forked()) return DUO_ERR_LOST;
    bool go;
    *passed = false;
    const duo_status status = sim_enter(SIM_IDLE, queue->device, &go);
    if (!go) return sim_leave(status);
    if (!mark_is_set(queue, mark, "passed")) return sim_leave(DUO_ERR_DEVICE);
    *passed = queue->progress->done >= queue->mark[mark].queued;
    if (*passed) sim_timing_waited(queue->mark[mark].clock);
    return sim_leave(DUO_OK);
}

duo_status sim_backend_finish(duo_queue *queue)
{
    if (sim_forked()) return DUO_ERR_LOST;
    bool go;
    duo_status status = sim_enter(SIM_WAIT, queue->device, &go);
    if (go) status = sim_wait_for(queue, sim_here(queue));
    return sim_leave(status);
}

duo_status sim_backend_idle(duo_queue *queue, bool *idle)
{
    if (sim_forked()) return DUO_ERR_LOST;
    bool go;
    const duo_status status = sim_enter(SIM_IDLE, queue->device, &go);
    if (!go) return sim_leave(status);
    *idle = queue->progress->done == queue->progress->queued;
    if (*idle) sim_timing_waited(queue->clock);
    return sim_leave(DUO_OK);
}

/* From now on work queued in `later` waits for that place in `earlier`; has the lock. */
static duo_status append_after(duo_queue *later, duo_queue *earlier, sim_mark place)
{
    if (sim.lost[earlier->device]) return sim_answer_lost(earlier->device);
    earlier->progress->references++;
    const work w = {.kind = WORK_AFTER, .earlier = earlier->progress, .target = place.queued};
    sim_timing_follow(later, place.clock);
    return sim_append(later, &w);
}

duo_status sim_backend_after(duo_queue *later, duo_queue *earlier)
{
    if (sim_forked()) return DUO_ERR_LOST;
    bool go;
    duo_status status = sim_enter(SIM_AFTER, later->device, &go);
    if (go && earlier->recording != NULL) sim_violation("after: the earlier queue records");
    const duo_queue *const program = earlier->stream != NULL ? sim_queue_of(earlier->stream) : NULL;
    if (go && program != NULL && program->recording != NULL) {
        sim_say("a stream that is captured cannot be followed");
        return sim_leave(DUO_ERR_DEVICE);
    }
    if (go) status = append_after(later, earlier, sim_here(earlier));
    return sim_leave(status);
}

duo_status sim_backend_after_mark(duo_queue *later, duo_queue *earlier, int mark)
{
    if (sim_forked()) return DUO_ERR_LOST;
    bool go;
    duo_status status = sim_enter(SIM_AFTER, later->device, &go);
    if (go)
        status = mark_is_set(earlier, mark, "after_mark")
                     ? append_after(later, earlier, earlier->mark[mark])
                     : DUO_ERR_DEVICE;
    return sim_leave(status);
}

duo_status sim_backend_stamp(duo_queue *queue, int number)
{
    if (sim_forked()) return DUO_ERR_LOST;
    bool go;
    const duo_status status = sim_enter(SIM_MARK, queue->device, &go);
    if (!go) return sim_leave(status);
    if (number >= queue->stamps) {
        queue->stamp = realloc(queue->stamp, (size_t)(number + 1) * sizeof *queue->stamp);
        if (queue->stamp == NULL) abort();
        queue->stamps = number + 1;
    }
    queue->stamp[number] = sim_timing_here(queue);
    return sim_leave(DUO_OK);
}

duo_status sim_backend_stamp_seconds(duo_queue *queue, int number, duo_queue *since,
                                     int since_number, double *seconds)
{
    if (sim_forked()) return DUO_ERR_LOST;
    bool go;
    *seconds = 0.0;
    const duo_status status = sim_enter(SIM_IDLE, queue->device, &go);
    if (!go) return sim_leave(status);
    if (number >= queue->stamps || since_number >= since->stamps ||
        queue->device != since->device || queue->progress->done < queue->progress->queued ||
        since->progress->done < since->progress->queued) {
        sim_violation("stamps %d and %d: not set, of two devices, or not waited for", number,
                      since_number);
        return sim_leave(DUO_ERR_DEVICE);
    }
    *seconds = 1e-9 * ((double)queue->stamp[number] - (double)since->stamp[since_number]);
    return sim_leave(DUO_OK);
}
