/* frame.c - what fragments of C in the documents may take for granted (test_documents.sh). */
#include <duoblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1024, STEPS = 20 };

extern float a[N * N], b[N * N], c[N * N], x[N], y[N]; /* matrices by columns; vectors */
extern float sum, square;
extern int64_t m, n, k, count;
extern duo_context *ctx, *other;
extern duo_event *event, *joined;
extern duo_graph *graph;
extern void *device_memory, *stream; /* of CUDA */
extern size_t bytes;

void check(duo_status status);
void fragment(void);

void fragment(void)
{
#include "fragment"
}
