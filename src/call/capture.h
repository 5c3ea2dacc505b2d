/*
 * capture.h - the functions that take a context's calls while a graph is captured.
 *
 * Calls are then not made but become nodes of the graph. Graphs are a layer above calls, so
 * duo_graph_begin gives the context these functions (graph/graph_capture.c). Arguments have been
 * checked.
 */
#ifndef DUO_CAPTURE_H
#define DUO_CAPTURE_H

#include "duoblas.h"

typedef struct duo_capture {
    duo_status (*add)(duo_context *ctx, const duo_work *work); /* one more node */
    duo_status (*record)(duo_context *ctx, duo_event *event);
    /* The context captures, or the event was recorded in a capture, or both. */
    duo_status (*wait)(duo_context *ctx, duo_event *event);
    void (*leave)(duo_context *ctx); /* the context ends */
} duo_capture;

#endif
