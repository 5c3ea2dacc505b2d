/*
 * transfer.h - transfers between host and device, through pinned memory if there is any.
 *
 * `columns` runs of `rows` floats, ld apart on the host (any sign), device_ld apart on the device;
 * bytes between the runs are neither read nor written. The context's queue is open.
 */
#ifndef DUO_TRANSFER_H
#define DUO_TRANSFER_H

#include "data/resources.h"
#include "data/runs.h"

/*
 * An upload returns when the host memory has been read; a direct one earlier (duo_upload_consumed).
 * A download returns when the host memory is written.
 *
 *   direct   the host memory is pinned, and the device may read or write it itself
 */
duo_status duo_upload(duo_resources *res, float *device, int64_t device_ld, const float *host,
                      int64_t ld, int64_t rows, int64_t columns, bool direct);
duo_status duo_download(duo_resources *res, float *host, int64_t ld, const float *device,
                        int64_t device_ld, int64_t rows, int64_t columns);

/* The same for a range of bytes without gaps: for kept arrays and duo_copy. */
duo_status duo_upload_bytes(duo_resources *res, void *device, const void *host, size_t bytes,
                            bool direct);
duo_status duo_download_bytes(duo_resources *res, void *host, const void *device, size_t bytes,
                              bool direct);

/*
 * Call it behind transfers with memory of this device, before relying on them. If the queue is on
 * another device, later work in it and in the memory's own queues is not told when one of the two
 * devices is lost. So this waits, and asks both devices.
 */
duo_status duo_transfer_across(duo_resources *res, int device);

/* Waits until direct uploads have read the host memory. Needed before a call returns to the
 * user. */
duo_status duo_upload_consumed(duo_resources *res);

#endif
