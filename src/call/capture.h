/*
 * capture.h - what takes the calls of a context while a graph is captured.
 *
 * Calls are then not made but become nodes of the graph. Graphs are above the functions that make
 * calls, which therefore find here the functions that duo_graph_begin gave the context
 * (graph/graph_capture.c). Arguments have been checked.
 */
#ifndef DUO_CAPTURE_H
#define DUO_CAPTURE_H

#include "duoblas.h"

typedef struct duo_capture {
    duo_status (*add)(duo_context *ctx, const duo_work *work); /* one more node */
    duo_status (*record)(duo_context *ctx, duo_event *event);
    /* Of a context that captures, or of an event that was captured, or both. */
    duo_status (*wait)(duo_context *ctx, duo_event *event);
    void (*leave)(duo_context *ctx); /* the context ends */
} duo_capture;

#endif
