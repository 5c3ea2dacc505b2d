/*
 * transfer.h - host <-> device, through pinned memory where there is any.
 *
 * `columns` runs of `rows` floats, ld apart on the host (any sign), device_ld apart on the device;
 * bytes between the runs are neither read nor written. The context's queue is open.
 */
#ifndef DUO_TRANSFER_H
#define DUO_TRANSFER_H

#include "data/resources.h"

/*
 * Uploads return when the host memory is consumed, but for direct ones (duo_upload_consumed);
 * downloads when the host memory is written. direct: the host memory is pinned and may be read or
 * written by the device itself. *done, if not NULL: how many elements, in order, were written to
 * the host before a failure.
 */
duo_status duo_upload(duo_resources *res, float *device, int64_t device_ld, const float *host,
                      int64_t ld, int64_t rows, int64_t columns, bool direct);
duo_status duo_download(duo_resources *res, float *host, int64_t ld, const float *device,
                        int64_t device_ld, int64_t rows, int64_t columns, bool direct,
                        int64_t *done);

/* Plain bytes, for kept arrays and duo_copy. */
duo_status duo_upload_bytes(duo_resources *res, void *device, const void *host, size_t bytes,
                            bool direct);
duo_status duo_download_bytes(duo_resources *res, void *host, const void *device, size_t bytes,
                              bool direct);

/* Waits for direct uploads to have read the host memory: the last thing before a call returns. */
duo_status duo_upload_consumed(duo_resources *res);

#endif
