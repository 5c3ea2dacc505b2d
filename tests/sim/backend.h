/* backend.h - the functions of the simulated backend that work on queues; only for its table. */
#ifndef DUO_TESTS_SIM_BACKEND_H
#define DUO_TESTS_SIM_BACKEND_H

#include "sim/state.h"

duo_status sim_backend_open(int device, void *stream, duo_priority priority, duo_queue **queue);
duo_status sim_backend_close(duo_queue *queue);
void *sim_backend_stream(duo_queue *queue);
duo_status sim_backend_capturing(int device, void *stream, bool *capturing);
duo_status sim_backend_copy(duo_queue *queue, void *dst, size_t dst_pitch, const void *src,
                            size_t src_pitch, size_t width, size_t height);
duo_status sim_backend_copy_now(duo_queue *queue, void *dst, size_t dst_pitch, const void *src,
                                size_t src_pitch, size_t width, size_t height);
duo_status sim_backend_fill(duo_queue *queue, void *dst, size_t pitch, unsigned char value,
                            size_t width, size_t height);
duo_status sim_backend_launch_batch(duo_queue *queue, duo_algorithm_id id, const duo_group *group,
                                    int64_t groups);
duo_status sim_backend_launch(duo_queue *queue, duo_algorithm_id id, const duo_call *call,
                              uint64_t *pinned_result, uint32_t ticket);
size_t sim_backend_packed_bytes(duo_algorithm_id id, const duo_call *call, int i);
duo_status sim_backend_pack(duo_queue *queue, duo_algorithm_id id, const duo_call *call, int i,
                            void *memory);
duo_status sim_backend_tag(duo_queue *queue, const void *memory, size_t blocks, const void *key,
                           void *tags);
duo_status sim_backend_freivalds_multiply(duo_queue *queue, const duo_freivalds_product *product);
duo_status sim_backend_freivalds_compare(duo_queue *queue, const duo_freivalds_rows *rows,
                                         uint32_t *wrong, uint32_t number);
duo_status sim_backend_trim(duo_queue *queue);
duo_status sim_backend_mark(duo_queue *queue, int mark);
duo_status sim_backend_wait_mark(duo_queue *queue, int mark);
duo_status sim_backend_passed(duo_queue *queue, int mark, bool *passed);
duo_status sim_backend_finish(duo_queue *queue);
duo_status sim_backend_idle(duo_queue *queue, bool *idle);
duo_status sim_backend_after(duo_queue *later, duo_queue *earlier);
duo_status sim_backend_after_mark(duo_queue *later, duo_queue *earlier, int mark);
duo_status sim_backend_signal_open(int device, duo_signal **signal);
void sim_backend_signal_close(duo_signal *signal);
duo_status sim_backend_signal_set(duo_signal *signal, duo_queue *queue);
duo_status sim_backend_signal_passed(duo_signal *signal, bool *passed);
duo_status sim_backend_signal_wait(duo_signal *signal);
duo_status sim_backend_after_signal(duo_queue *later, duo_signal *signal);
duo_status sim_backend_reserve(duo_queue *queue, duo_algorithm_id id, const duo_call *call);
void sim_backend_share(duo_queue *queue, double part);
duo_status sim_backend_record_begin(duo_queue *queue);
duo_status sim_backend_record_end(duo_queue *queue, duo_recorded **recorded);
duo_status sim_backend_replay(duo_queue *queue, duo_recorded *recorded);
void sim_backend_forget(duo_recorded *recorded);
duo_status sim_backend_stamp(duo_queue *queue, int number);
duo_status sim_backend_stamp_seconds(duo_queue *queue, int number, duo_queue *since,
                                     int since_number, double *seconds);

/* Shared by these functions. Both need the lock. */
sim_mark sim_here(const duo_queue *queue);                 /* behind all queued work */
duo_status sim_wait_for(duo_queue *queue, sim_mark place); /* the host waits for it */

#endif
