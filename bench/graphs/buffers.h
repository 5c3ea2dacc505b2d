/* buffers.h - arrays of one side, each allocated for itself, and the context that works on them. */
#ifndef DUO_BUFFERS_H
#define DUO_BUFFERS_H

#include "bench/experiments/setup.h"

enum { DUO_MOST_BUFFERS = 100 };

typedef struct duo_buffers {
    duo_side side;
    duo_context *context; /* on the path of that side */
    int count;
    size_t floats; /* of each */
    float *at[DUO_MOST_BUFFERS];
} duo_buffers;

/* A context on the side's path, with the threads of the options; NULL: out of memory. */
duo_context *duo_buffers_context(const duo_bench *bench, duo_side side);

/* All random. The same seed, the same data. False, and said on stderr: out of memory
 * there. */
bool duo_buffers_open(duo_buffers *buffers, const duo_bench *bench, duo_side side, int count,
                      size_t floats);
/* Also of buffers that are all 0. */
void duo_buffers_close(duo_buffers *buffers);

/* The floats of one of them, once the context has done its work; free() them. NULL: it failed. */
float *duo_buffers_read(const duo_buffers *buffers, int which);
/* Makes all of it NaN. */
bool duo_buffers_spoil(const duo_buffers *buffers, int which);
/* Is it the same as `expected`, up to rounding? */
bool duo_buffers_agree(const duo_buffers *buffers, int which, const float *expected);

#endif
