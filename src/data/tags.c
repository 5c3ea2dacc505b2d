/* tags.c - tags of blocks (tags.h). */
#define _GNU_SOURCE
#include "data/tags.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/random.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

static _Alignas(64) unsigned char the_key[DUO_TAG_KEY_BYTES];
static bool there;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_key(void)
{
    size_t done = 0;
    while (done < sizeof the_key) {
        const ssize_t more = getrandom(the_key + done, sizeof the_key - done, GRND_NONBLOCK);
        if (more < 0 && errno == EINTR) continue;
        if (more <= 0) return;
        done += (size_t)more;
    }
    there = true;
}

const void *duo_tags_key(void)
{
    pthread_once(&once, make_key);
    return there ? the_key : NULL;
}

/*
 * The block is a list of pairs of 32-bit words. Each word is added to a word of the key, modulo
 * 2^32; the two sums of a pair are multiplied, and the 64-bit products are added, modulo 2^64.
 */

#if defined(__x86_64__)

static uint64_t sum_of(__m128i v)
{
    return (uint64_t)_mm_cvtsi128_si64(v) + (uint64_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(v, v));
}

static __m128i products(__m128i words, const char *key)
{
    const __m128i u = _mm_add_epi32(words, _mm_load_si128((const __m128i *)(const void *)key));
    return _mm_mul_epu32(u, _mm_srli_epi64(u, 32));
}

static duo_tag tag_of(const char *block, const char *key)
{
    __m128i a = _mm_setzero_si128(), b = a;
    for (int i = 0; i < DUO_TAG_BLOCK; i += 16) {
        const __m128i words = _mm_loadu_si128((const __m128i *)(const void *)(block + i));
        a = _mm_add_epi64(a, products(words, key + i));
        b = _mm_add_epi64(b, products(words, key + i + DUO_TAG_SHIFT));
    }
    return (duo_tag){{sum_of(a), sum_of(b)}};
}

__attribute__((target("avx2"))) static __m256i products_avx2(__m256i words, const char *key)
{
    const __m256i u =
        _mm256_add_epi32(words, _mm256_loadu_si256((const __m256i *)(const void *)key));
    return _mm256_mul_epu32(u, _mm256_srli_epi64(u, 32));
}

__attribute__((target("avx2"))) static uint64_t sum_of_avx2(__m256i v)
{
    const __m128i low = _mm256_castsi256_si128(v), high = _mm256_extracti128_si256(v, 1);
    const __m128i two = _mm_add_epi64(low, high);
    return (uint64_t)_mm_cvtsi128_si64(two) +
           (uint64_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(two, two));
}

/* The processor does not fetch over the end of a page by itself: lines are asked for ahead. */
enum { AHEAD = 1024 };

__attribute__((target("avx2"))) static duo_tag tag_of_avx2(const char *block, const char *key)
{
    __m256i a[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()}, b[2] = {a[0], a[0]};
    for (int i = 0; i < DUO_TAG_BLOCK; i += 64) {
        _mm_prefetch(block + i + AHEAD, _MM_HINT_T0);
        for (int half = 0; half < 2; half++) {
            const int at = i + 32 * half;
            const __m256i words = _mm256_loadu_si256((const __m256i *)(const void *)(block + at));
            a[half] = _mm256_add_epi64(a[half], products_avx2(words, key + at));
            b[half] = _mm256_add_epi64(b[half], products_avx2(words, key + at + DUO_TAG_SHIFT));
        }
    }
    return (duo_tag){
        {sum_of_avx2(_mm256_add_epi64(a[0], a[1])), sum_of_avx2(_mm256_add_epi64(b[0], b[1]))}};
}

duo_tag duo_tags_of(const void *block, const void *key)
{
    return __builtin_cpu_supports("avx2") ? tag_of_avx2(block, key) : tag_of(block, key);
}

#else

static uint64_t product(const uint32_t words[2], const char *key)
{
    uint32_t k[2];
    memcpy(k, key, sizeof k);
    return (uint64_t)(uint32_t)(words[0] + k[0]) * (uint32_t)(words[1] + k[1]);
}

duo_tag duo_tags_of(const void *block, const void *key)
{
    duo_tag tag = {{0, 0}};
    const char *const k = key;
    for (int i = 0; i < DUO_TAG_BLOCK; i += 8) {
        uint32_t words[2];
        memcpy(words, (const char *)block + i, sizeof words);
        tag.half[0] += product(words, k + i);
        tag.half[1] += product(words, k + i + DUO_TAG_SHIFT);
    }
    return tag;
}

#endif
