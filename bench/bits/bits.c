/*
 * bits.c - `duoblas bench bits`: hashes of 1000 results (bits.h), by the CPU, and by the GPU from
 * arrays in host memory and on the device.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/bits/bits.h"
#include "bench/experiments/experiments.h"
#include "bench/tool/tool.h"

typedef struct way {
    const char *name;
    duo_side side;
    bool on_device; /* the arrays */
} way;

enum { WAYS = 3 };
static const way ways[WAYS] = {{"CPU", DUO_SIDE_CPU, false},
                               {"GPU, host arrays", DUO_SIDE_GPU, false},
                               {"GPU, resident", DUO_SIDE_GPU, true}};

static duo_status run(const duo_bench *b, const way *w, duo_bits *bits)
{
    duo_context *ctx = NULL;
    duo_status status = duo_create(&ctx);
    if (status == DUO_OK)
        status = duo_set_path(ctx, w->side == DUO_SIDE_CPU ? DUO_PATH_CPU : DUO_PATH_GPU);
    if (status == DUO_OK && b->threads > 0) status = duo_set_threads(ctx, b->threads);
    if (status == DUO_OK) status = duo_bits_run(ctx, b->seed, w->on_device, bits);
    if (ctx != NULL) (void)duo_destroy(ctx);
    return status;
}

static void print_row(const char *name, const uint64_t *hash, int count)
{
    printf("  %-21s", name);
    for (int i = 0; i < count; i++) printf("  %016" PRIx64, hash[i]);
    printf("\n");
}

static void print(const way *const shown[], const duo_bits *bits, int count)
{
    uint64_t hash[WAYS];
    printf("  %-21s", "");
    for (int i = 0; i < count; i++) printf("  %-*s", i + 1 < count ? 16 : 0, shown[i]->name);
    printf("\n");
    for (int group = 0; group <= DUO_BITS_GROUPS; group++) {
        const bool all = group == DUO_BITS_PROMISED;
        const duo_bits_group which = (duo_bits_group)(group - (group > DUO_BITS_PROMISED));
        for (int i = 0; i < count; i++) hash[i] = all ? bits[i].all : bits[i].group[which];
        print_row(all ? "all of these" : duo_bits_name(which), hash, count);
    }
}

/* Says what the hashes mean. False: a promise is broken. */
static bool judge(uint64_t seed, const way *const shown[], const duo_bits *bits, int count)
{
    const bool known = seed == 1;
    const uint64_t expected = known ? duo_bits_expected : bits[0].all;
    bool right = true;
    for (int i = 0; i < count; i++) {
        if (shown[i]->side == DUO_SIDE_GPU)
            printf("%s: %d of 1000 calls ran on the GPU.\n", shown[i]->name, bits[i].on_gpu);
        if (bits[i].all == expected) continue;
        right = false;
        printf("%s: other bits than %s.\n", shown[i]->name,
               known ? "DuoBLAS 1.x gives" : shown[0]->name);
    }
    if (right && known) printf("These are the bits of DuoBLAS 1.x.\n");
    if (right && !known && count > 1) printf("All have the same bits.\n");
    return right;
}

int duo_bench_bits(duo_bench *b)
{
    const way *shown[WAYS];
    duo_bits bits[WAYS];
    int devices = 0, count = 0;
    if (duo_device_count(&devices) != DUO_OK) devices = 0;
    if (devices == 0 && b->side == DUO_SIDE_GPU) {
        fprintf(stderr, "duoblas bench bits: there is no GPU\n");
        return DUO_EXIT_FAILURE;
    }
    for (int i = 0; i < WAYS; i++) {
        if (!b->sides[ways[i].side] || (ways[i].side == DUO_SIDE_GPU && devices == 0)) continue;
        const duo_status status = run(b, &ways[i], &bits[count]);
        if (status != DUO_OK) {
            fprintf(stderr, "duoblas bench bits: %s: %s\n", ways[i].name,
                    duo_status_string(status));
            return DUO_EXIT_FAILURE;
        }
        shown[count++] = &ways[i];
    }
    printf("1000 products and sums by DuoBLAS %s, seed %" PRIu64 "\n\n", DUO_VERSION_STRING,
           b->seed);
    print(shown, bits, count);
    printf("\n");
    return judge(b->seed, shown, bits, count) ? EXIT_SUCCESS : DUO_EXIT_FAILURE;
}
