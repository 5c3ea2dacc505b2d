/* samples.c - checksums of lines of an array (samples.h). */
#include "data/samples.h"

#include <stdlib.h>
#include <string.h>

enum { LINE = 64 };

static size_t lines_of(size_t bytes) { return (bytes + LINE - 1) / LINE; }

/* The finalizer of MurmurHash3: each bit of the result depends on every bit of x. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 33) * UINT64_C(0xff51afd7ed558ccd);
    x = (x ^ x >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return x ^ x >> 33;
}

duo_samples *duo_samples_make(size_t bytes)
{
    const size_t lines = lines_of(bytes);
    const size_t count = lines < DUO_SAMPLED_LINES ? lines : DUO_SAMPLED_LINES;
    duo_samples *const samples = calloc(1, sizeof *samples + count * sizeof samples->sum[0]);
    if (samples == NULL) return NULL;
    samples->bytes = bytes;
    samples->count = count;
    return samples;
}

/* Bytes of the i-th sampled line. */
static duo_range line_at(const duo_samples *samples, size_t i)
{
    const size_t lines = lines_of(samples->bytes), each = lines / samples->count;
    const size_t first = i * each; /* of its part; the remainder belongs to the last part */
    size_t line = first + mix(samples->bytes + i) % each;
    if (i == 0) line = 0;
    if (i == samples->count - 1) line = lines - 1;
    const size_t from = line * LINE, to = from + LINE;
    return (duo_range){from, to < samples->bytes ? to : samples->bytes};
}

static uint64_t sum_of(const void *array, duo_range line)
{
    uint64_t sum = 1;
    for (size_t at = line.from; at < line.to; at += sizeof sum) {
        uint64_t word = 0;
        const size_t left = line.to - at;
        memcpy(&word, (const char *)array + at, left < sizeof word ? left : sizeof word);
        sum = mix(sum + word) + at;
    }
    return sum | 1; /* 0 means: not sampled */
}

void duo_samples_take(duo_samples *samples, const void *array, duo_range range)
{
    for (size_t i = 0; i < samples->count; i++) {
        const duo_range line = line_at(samples, i);
        if (duo_range_meets(range, line.from, line.to)) samples->sum[i] = sum_of(array, line);
    }
}

duo_range duo_samples_changed(const duo_samples *samples, const void *array, duo_range part,
                              duo_range but, duo_range nor)
{
    for (size_t i = 0; i < samples->count; i++) {
        const duo_range line = line_at(samples, i);
        if (line.from < part.from || line.to > part.to || samples->sum[i] == 0) continue;
        if (duo_range_meets(but, line.from, line.to) || duo_range_meets(nor, line.from, line.to))
            continue;
        if (samples->sum[i] != sum_of(array, line)) return line;
    }
    return (duo_range){0, 0};
}
