/*
 * sim.h - a simulated GPU behind the backend (src/gpu/backend/backend.h).
 *
 * Its memory has real addresses, but the host cannot read or write there. Copies and kernels are
 * queued and carried out later, by one worker thread per queue, so that a forgotten wait shows.
 * All memory that the work touches must lie in a live allocation or in live pinned memory; anything
 * else is counted as a violation. It can be told to fail. Its virtual time and its log are in
 * clock.h.
 *
 * Device numbers 0 .. SIM_DEVICES - 1; one device unless told otherwise. Controls may be called
 * from any thread; they act at once. `nth` counts from 1 = the next.
 */
#ifndef DUO_TESTS_SIM_SIM_H
#define DUO_TESTS_SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/backend/backend.h"

enum { SIM_DEVICES = 4 };

const duo_backend *sim_backend(void);

/* The calls of the backend. SIM_WAIT: wait_mark and finish. SIM_IDLE: idle and passed. SIM_AFTER:
 * after and after_mark. Signals are counted, too: SIM_MARK is also signal_set, SIM_OPEN also
 * signal_open. SIM_RECORD: record_begin and record_end. */
typedef enum sim_kind {
    SIM_COUNT,
    SIM_LOAD,
    SIM_LINK,
    SIM_ALLOCATE,
    SIM_RELEASE,
    SIM_PIN,
    SIM_UNPIN,
    SIM_WIPE,
    SIM_CLASSIFY,
    SIM_OPEN,
    SIM_CLOSE,
    SIM_COPY,
    SIM_LAUNCH,
    SIM_PACK,
    SIM_MARK,
    SIM_WAIT,
    SIM_IDLE,
    SIM_AFTER,
    SIM_RECORD,
    SIM_REPLAY,
    SIM_KINDS
} sim_kind;

/* ---- Controls ---- */

/* One live device of 1 GiB, nothing armed, no delay, not held, counters, violations and clocks 0.
 * Waits for queued work. Allocations and queues that are open live on. */
void sim_reset(void);

void sim_set_devices(int count);
void sim_set_memory(uint64_t bytes); /* of each device */
void sim_set_pinned(uint64_t bytes); /* most that can be pinned; unlimited after reset */
void sim_count_unwiped(void);        /* of memory that is given back, device or pinned */
void sim_give_again(void); /* the next allocations take addresses that were freed, as drivers do */
/* Forgets memory of lost devices. A device without memory gives all pages of the machine back, and
 * its addresses begin anew: for processes that run long. */
void sim_tidy(void);
void sim_set_links(bool direct);      /* can devices reach each other's memory? After reset: yes */
void sim_set_delay(int microseconds); /* most that the worker sleeps, at random, before each
                                         operation */
void sim_hold(bool hold);             /* true: workers stop before their next operation */

/*
 * From the nth call of this kind on, `times` calls answer `status` (times < 0: all).
 * DUO_ERR_MEMORY, DUO_ERR_DEVICE: only that call failed. DUO_ERR_LOST: its device is lost from then
 * on. Each kind has one such order; nth = 0 withdraws it. SIM_COUNT with status DUO_OK: the call
 * finds 0 devices.
 */
void sim_fail(sim_kind kind, int nth, duo_status status, int times);

/* The nth operation (copy or launch, any queue) from now is accepted, and fails when it is carried
 * out: it is dropped and the device is lost. garbage: it leaves garbage in its output. */
void sim_fail_async(int nth, bool garbage);
/* The nth product or reduction that is carried out from now on gets a wrong element, and nobody is
 * told. 0: none. */
void sim_err(int nth);

/* The device is lost now: queued work is dropped and every call on it answers DUO_ERR_LOST. */
void sim_lose(int device);

/* ---- What happened ---- */

uint64_t sim_count(sim_kind kind); /* calls since reset, failed ones included */
uint64_t sim_uploaded_bytes(void); /* queued, host to device */
uint64_t sim_downloaded_bytes(void);
duo_algorithm_id sim_last_algorithm(void); /* of the last launch accepted; DUO_ALGORITHMS: none */
int sim_violations(void); /* breaches of the backend's contract; each is told on stderr */
int sim_leaks(void);      /* live allocations (not of lost devices), pinned blocks and queues */
uint64_t sim_allocated_bytes(int device);
/* Bytes that were not zero when their memory was given back, since sim_count_unwiped. What is on a
 * lost device does not count. */
uint64_t sim_unwiped_bytes(void);
int sim_queues(int device, duo_priority priority); /* open queues of this priority */

/* ---- Device memory that the library does not know ---- */

void *sim_foreign_malloc(int device, size_t bytes); /* as from cudaMalloc */
void sim_foreign_free(void *address);

/* Read and write device memory without the library's knowledge. They do not wait for queued
 * work. */
void sim_read(void *host, const void *device_address, size_t bytes);
void sim_write(void *device_address, const void *host, size_t bytes);
bool sim_is_device(const void *address); /* inside the range that the simulated devices use? */

#endif
