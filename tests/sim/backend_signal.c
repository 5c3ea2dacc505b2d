/* backend_signal.c - the simulated device behind the backend's table: signals. */
#include "sim/backend.h"

#include "sim/record.h"
#include "sim/timing.h"
#include "sim/worker.h"

#include <stdlib.h>

struct duo_signal {
    int device;
    progress *progress; /* of the queue that set it last; NULL: never set */
    sim_mark place;
    duo_recorded *recording; /* `place` is in this recording; NULL: in a queue's work */
    int step;
};

/* The caller has the lock. */
static void let_go(duo_signal *signal)
{
    if (signal->progress != NULL && --signal->progress->references == 0) free(signal->progress);
    signal->progress = NULL;
}

/* Was it set? A violation if not; has the lock. */
static bool is_set(const duo_signal *signal, const char *who)
{
    if (signal->progress == NULL)
        sim_violation("%s: the signal was never set, or only in a recording", who);
    return signal->progress != NULL;
}

duo_status sim_backend_signal_open(int device, duo_signal **signal)
{
    if (sim_forked()) return DUO_ERR_LOST;
    bool go;
    *signal = NULL;
    const duo_status status = sim_enter(SIM_OPEN, device, &go);
    if (!go) return sim_leave(status);
    duo_signal *const s = calloc(1, sizeof *s);
    if (s == NULL) return sim_leave(DUO_ERR_MEMORY);
    s->device = device;
    sim.signals++;
    *signal = s;
    return sim_leave(DUO_OK);
}

void sim_backend_signal_close(duo_signal *signal)
{
    if (sim_forked()) return;
    pthread_mutex_lock(&sim_lock);
    let_go(signal);
    sim.signals--;
    pthread_mutex_unlock(&sim_lock);
    free(signal);
}

duo_status sim_backend_signal_set(duo_signal *signal, duo_queue *queue)
{
    if (sim_forked()) return DUO_ERR_LOST;
    bool go;
    const duo_status status = sim_enter(SIM_MARK, queue->device, &go);
    if (!go) return sim_leave(status);
    if (signal->device != queue->device) {
        sim_violation("a signal of device %d is set on device %d", signal->device, queue->device);
        return sim_leave(DUO_ERR_DEVICE);
    }
    let_go(signal);
    signal->recording = queue->recording;
    if (signal->recording != NULL) {
        signal->step = sim_recorded_step(queue);
        return sim_leave(DUO_OK);
    }
    signal->progress = queue->progress;
    signal->progress->references++;
    signal->place = sim_here(queue);
    return sim_leave(DUO_OK);
}

duo_status sim_backend_signal_passed(duo_signal *signal, bool *passed)
{
    if (sim_forked()) return DUO_ERR_LOST;
    bool go;
    *passed = false;
    const duo_status status = sim_enter(SIM_IDLE, signal->device, &go);
    if (!go) return sim_leave(status);
    if (!is_set(signal, "passed")) return sim_leave(DUO_ERR_DEVICE);
    *passed = signal->progress->done >= signal->place.queued;
    if (*passed) sim_timing_waited(signal->place.clock);
    return sim_leave(DUO_OK);
}

duo_status sim_backend_signal_wait(duo_signal *signal)
{
    if (sim_forked()) return DUO_ERR_LOST;
    bool go;
    const duo_status status = sim_enter(SIM_WAIT, signal->device, &go);
    if (!go) return sim_leave(status);
    if (!is_set(signal, "wait")) return sim_leave(DUO_ERR_DEVICE);
    progress *const of = signal->progress; /* it may be set again meanwhile */
    const sim_mark place = signal->place;
    of->references++;
    while (of->done < place.queued) pthread_cond_wait(&sim_changed, &sim_lock);
    if (--of->references == 0) free(of);
    sim_timing_waited(place.clock);
    return sim_leave(sim.lost[signal->device] ? sim_answer_lost(signal->device) : DUO_OK);
}

duo_status sim_backend_after_signal(duo_queue *later, duo_signal *signal)
{
    if (sim_forked()) return DUO_ERR_LOST;
    bool go;
    const duo_status status = sim_enter(SIM_AFTER, later->device, &go);
    if (!go) return sim_leave(status);
    if (signal->recording != NULL)
        return sim_leave(sim_record_after(later, signal->recording, signal->step));
    if (later->recording != NULL) {
        sim_violation("what is recorded follows what is not");
        return sim_leave(DUO_ERR_DEVICE);
    }
    if (!is_set(signal, "after")) return sim_leave(DUO_ERR_DEVICE);
    if (sim.lost[signal->device]) return sim_leave(sim_answer_lost(signal->device));
    signal->progress->references++;
    const work w = {
        .kind = WORK_AFTER, .earlier = signal->progress, .target = signal->place.queued};
    sim_timing_follow(later, signal->place.clock);
    return sim_leave(sim_append(later, &w));
}
