/*
 * context.h - a context: policy, queue, workspace and the memory of the last call.
 */
#ifndef DUO_CONTEXT_H
#define DUO_CONTEXT_H

#include "gpu/backend/backend.h"
#include "choice/select.h"
#include "cpu/kernels.h"
#include "data/residency.h"

enum { DUO_STAGES = 4 };

/* Memory that grows once and is reused. */
typedef struct duo_space {
    void *address;
    size_t bytes;
} duo_space;

struct duo_context {
    uint32_t magic;

    /*
     * Tiny calls skip everything: operands in plain host memory, nothing registered near them, and
     * every size at most this. Computed from the algorithms' costs by duo_context_policy(), -1 while
     * anything else is asked for.
     */
    int64_t tiny[DUO_OPERATIONS];
    const duo_algorithm *tiny_algorithm[DUO_OPERATIONS];

    /* policy */
    duo_path path;
    duo_math math;
    int threads; /* 0: the default */
    int device;
    bool rank_device; /* it is a rank's number as yet: the devices had not been counted */
    int verbose;
    void (*log)(void *user, const char *line);
    void *log_user;
    void *stream;              /* the caller's, or NULL */
    duo_fortran_sgemm program; /* the program's own sgemm, to be used on the CPU; or NULL */

    /* on the device; made when first needed */
    duo_queue *queue;
    int queue_device;
    duo_space workspace[DUO_OPERANDS]; /* device copies of host operands */
    duo_space stage[DUO_STAGES];       /* pinned, on the way; slot i is free after mark i */
    bool stage_busy[DUO_STAGES];
    int stage_next;
    uint64_t *pinned_result; /* of a reduction; NULL: not needed yet */
    uint32_t ticket;
    bool reading_host; /* transfers straight from the caller's pinned memory may be under way */
    bool
        unwaited; /* outputs were queued that live on the device, and nobody has waited for them yet */

    bool on_gpu; /* a GPU algorithm is under way: its operands and its queue stay where they are */
    const duo_algorithm
        *running; /* the CPU algorithm that its thread is in, or NULL; read after a fork only */

    /* the last call, for duo_explain_last and the verbose line */
    bool last_tiny; /* only operation and sizes of last_call are set, the rest on demand */
    bool
        last_short; /* last_choice has the CPU's algorithms alone, the others on demand, by last_conditions */
    duo_conditions last_conditions;
    duo_call last_call;
    const duo_algorithm *last_algorithm;
    int last_threads;
    double last_predicted_seconds, last_seconds;
    int last_candidates;
    duo_choice last_choice[DUO_CANDIDATES];
    char note[160];
    char detail[256];

    duo_context *next;  /* in the pool */
    duo_context *older; /* made before this one */
};

/* The context to use: ctx, or this thread's default one if NULL. Returns NULL for one that is not
 * live. */
duo_context *duo_context_of(duo_context *ctx);

/* This thread's default context if it has one already. Initial-exec: one load. */
extern __thread duo_context *duo_context_default;

/* What a call with this thread may use now. */
duo_conditions duo_context_conditions(duo_context *ctx);
/* After any change of policy: find the limits of tiny calls again. */
void duo_context_policy(duo_context *ctx);

/* The context's queue on its device, opened if need be. DUO_ERR_DEVICE: no usable GPU (noted). */
duo_status duo_context_queue(duo_context *ctx);
/*
 * The same for transfers with a region: where the context's own device is lost, its queue goes to the
 * region's. DUO_ERR_LOST: that is lost, too.
 */
duo_status duo_context_reach(duo_context *ctx, const duo_region *region);
/* The slot for a result that the host waits for: made when first needed. */
duo_status duo_context_pin_result(duo_context *ctx);
/* Waits for its work and closes it, with workspace and stages. */
duo_status duo_context_close_queue(duo_context *ctx);
/* In a child process: no context has a queue. */
void duo_contexts_in_child(void);
/* Runs a CPU algorithm, all operands in host memory. DUO_OK or DUO_DECLINED. */
static inline int duo_context_run(duo_context *ctx, const duo_algorithm *algorithm,
                                  const duo_call *call)
{
    ctx->running = algorithm;
    const int status = algorithm->run(call);
    ctx->running = NULL;
    return status;
}

/* A backend function failed: keeps the text, and where the device is lost says so to everybody.
 * Returns status. */
duo_status duo_context_failed(duo_context *ctx, duo_status status, const char *doing);
void duo_context_note(duo_context *ctx, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Grows a device or staging space; DUO_ERR_MEMORY leaves it empty. */
duo_status duo_space_device(duo_context *ctx, duo_space *space, size_t bytes);

/* ---- stage.c: host <-> device, through pinned memory where there is any ---- */

/*
 * `columns` runs of `rows` floats, ld apart on the host (any sign), device_ld apart on the device.
 * Uploads return when the host memory is consumed; downloads when the host memory is written.
 * *done, if not NULL: how many elements, in order, were written to the host before a failure.
 * direct: the host memory is pinned and may be read or written by the device itself.
 */
duo_status duo_stage_upload(duo_context *ctx, float *device, int64_t device_ld, const float *host,
                            int64_t ld, int64_t rows, int64_t columns, bool direct);
duo_status duo_stage_download(duo_context *ctx, float *host, int64_t ld, const float *device,
                              int64_t device_ld, int64_t rows, int64_t columns, bool direct,
                              int64_t *done);
/* Waits for direct uploads to have read the host memory: the last thing before a call returns. */
duo_status duo_stage_consumed(duo_context *ctx);
/* Plain bytes, for kept arrays and duo_copy. */
duo_status duo_stage_upload_bytes(duo_context *ctx, void *device, const void *host, size_t bytes,
                                  bool direct);
duo_status duo_stage_download_bytes(duo_context *ctx, void *host, const void *device, size_t bytes,
                                    bool direct);
void duo_stage_free(duo_context *ctx);

/* ---- place.c: bring operands to a side ---- */

/* Fills residence, region and currency of every operand. DUO_OK, DUO_ERR_RANGE, DUO_ERR_LOST. */
duo_status duo_place_locate(duo_context *ctx, duo_call *call);
/* Asks the driver about operands that are not registered. DUO_OK or DUO_ERR_FOREIGN. */
duo_status duo_place_ask(duo_context *ctx, duo_call *call);

/*
 * Copies `call` to `local` with addresses on the device, for an algorithm; sends what is missing there. The
 * copies of kept arrays stay where they are until duo_place_queued, which has to follow, also on
 * failure.
 */
duo_status duo_place_on_device(duo_context *ctx, duo_algorithm_id algorithm, const duo_call *call,
                               duo_call *local);
/* The work on these operands has been queued, or will not be. */
void duo_place_queued(duo_context *ctx, const duo_call *call, const duo_call *local, bool queued);
/* After the launch: takes results home. *done as in duo_stage_download, for C. */
duo_status duo_place_from_device(duo_context *ctx, const duo_call *call, const duo_call *local,
                                 int64_t *done);
/* The result of a reduction that came by another way. */
duo_status duo_place_result(duo_context *ctx, const duo_operand *o, float value);
/* The same for the host side. */
duo_status duo_place_on_host(duo_context *ctx, const duo_call *call, duo_call *local);
duo_status duo_place_from_host(duo_context *ctx, const duo_call *call, const duo_call *local);
/* Has to follow both ways, also on failure. */
void duo_place_end(const duo_call *call, const duo_call *local);

/* Region verbs, under the residency lock. Both leave the region as it was on failure. */
duo_status duo_region_fetch(duo_context *ctx, duo_region *region);
duo_status duo_region_send(duo_context *ctx, duo_region *region);
/* Makes the host bytes of every kept array in [low, high) current; the first failure, after all. */
duo_status duo_kept_fetch(duo_context *ctx, uintptr_t low, uintptr_t high);
/* The host wrote bytes [from, to) of a kept region. */
duo_status duo_region_written(duo_context *ctx, duo_region *region, size_t from, size_t to);
/* The context's queue is about to use the region's device copy: follow what others queued. */
duo_status duo_region_claim(duo_context *ctx, duo_region *region);

/* ---- form.c: prepared operands; all under the residency lock ---- */

/* May a part of the region have a form? */
bool duo_packed_hoped(const duo_region *region, duo_range part);
/*
 * Operand i of a call that was placed for an algorithm, `part` of its region: device memory where its form
 * is, or will be when the work is done that the context's queue has now. NULL: the algorithm has no form, nothing
 * was promised, or there is no room.
 */
void *duo_packed_of(duo_context *ctx, duo_algorithm_id algorithm, const duo_call *local, int i,
                    duo_range part);
/* Bytes [from, to) of the region were written. */
void duo_packed_stale(duo_region *region, size_t from, size_t to);
void duo_packed_drop(duo_region *region);

/* ---- execute.c, explain.c ---- */

/* Locate, select, place, run. The call's arguments are checked and its quick returns taken. */
duo_status duo_execute(duo_context *ctx, duo_call *call);
/* Writes a value to a result that may be anywhere: the reductions' quick returns. */
duo_status duo_execute_store(duo_context *ctx, duo_operation operation, int64_t n, float value,
                             float *result);
/* A call whose quick return leaves nothing to do. */
void duo_execute_nothing(duo_context *ctx, const duo_call *call);
void duo_explain_call(duo_context *ctx); /* the verbose line */
/* To the context's log, or to stderr at DUOBLAS_VERBOSE=2. */
void duo_explain_event(const duo_context *ctx, const char *text);

/* The core of duo_sasum, duo_ssum, duo_sdot. */
duo_status duo_reduce(duo_context *ctx, duo_operation operation, int64_t n, const float *x,
                      int64_t incx, const float *y, int64_t incy, float *result);

#endif
