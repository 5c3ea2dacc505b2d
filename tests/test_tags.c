/*
 * test_tags.c - tags of blocks (data/tags.h): as they are defined, on the CPU and on the device;
 * after every change they are others.
 */
#include <stdlib.h>
#include <string.h>

#include "data/tags.h"
#include "gpu/backend/devices.h"
#include "support/data.h"
#include "support/harness.h"

enum { PAGE = DUO_TAG_BLOCK };

/* The tag by its definition. */
static duo_tag defined(const unsigned char *block, const unsigned char *key)
{
    uint32_t m[PAGE / 4], k[PAGE / 4 + 4];
    duo_tag tag = {{0, 0}};
    memcpy(m, block, sizeof m);
    memcpy(k, key, sizeof k);
    for (int half = 0; half < 2; half++)
        for (int i = 0; i < PAGE / 4; i += 2) {
            const uint32_t x = m[i] + k[i + 4 * half], y = m[i + 1] + k[i + 1 + 4 * half];
            tag.half[half] += (uint64_t)x * y;
        }
    return tag;
}

static bool equal(duo_tag x, duo_tag y) { return x.half[0] == y.half[0] && x.half[1] == y.half[1]; }

static void tags_by_definition(void)
{
    const void *const key = duo_tags_key();
    unsigned char block[PAGE + 1];
    test_rng seed = test_rng_for("remembered");
    const int rounds = test_amount(200, 2000, 100000);
    test_case("tags");
    CHECK(key != NULL, "no random bytes");
    int differ = 0, missed = 0;
    for (int round = 0; round < rounds; round++) {
        unsigned char *const at = block + round % 2; /* aligned or not */
        for (int i = 0; i < PAGE; i++) at[i] = (unsigned char)test_random(&seed);
        const duo_tag tag = duo_tags_of(at, key);
        differ += !equal(tag, defined(at, key));
        at[test_random(&seed) % PAGE] ^= (unsigned char)(1u << test_random(&seed) % 8);
        missed += equal(tag, duo_tags_of(at, key));
        float values[2] = {0.0f, -0.0f};
        memset(at, 0, PAGE);
        const duo_tag zeros = duo_tags_of(at, key);
        memcpy(at + 4 * (test_random(&seed) % (PAGE / 4)), &values[1], 4);
        missed += equal(zeros, duo_tags_of(at, key));
    }
    CHECK(differ == 0, "%d of %d tags differ from their definition", differ, rounds);
    CHECK(missed == 0, "%d of %d changes have the same tag", missed, 2 * rounds);
}

/* The device's tags are the CPU's. */
static void tags_of_device(void)
{
    enum { BLOCKS = 1000 };
    duo_context *const ctx = test_context();
    const duo_backend *const backend = duo_backend_current();
    const size_t bytes = (size_t)BLOCKS * PAGE;
    unsigned char *const host = malloc(bytes);
    duo_tag *const tags = malloc(BLOCKS * sizeof *tags);
    test_rng seed = test_rng_for("remembered");
    void *there = NULL, *there_too = NULL;
    duo_queue *queue = NULL;
    test_case("tags/device");
    for (size_t i = 0; i < bytes; i++) host[i] = (unsigned char)test_random(&seed);
    CHECK_STATUS(DUO_OK, duo_warm_up(ctx));
    CHECK_STATUS(DUO_OK, backend->open(0, NULL, DUO_PRIORITY_NORMAL, &queue));
    CHECK_STATUS(DUO_OK, backend->allocate(0, bytes, &there));
    CHECK_STATUS(DUO_OK,
                 backend->allocate(0, BLOCKS * sizeof *tags + DUO_TAG_KEY_BYTES, &there_too));
    char *const key = (char *)there_too + BLOCKS * sizeof *tags;
    for (int blocks = 1; blocks <= BLOCKS; blocks = blocks * 3 + 1) {
        int differ = 0;
        CHECK_STATUS(DUO_OK, backend->copy_now(queue, there, bytes, host, bytes, bytes, 1));
        CHECK_STATUS(DUO_OK, backend->copy_now(queue, key, DUO_TAG_KEY_BYTES, duo_tags_key(),
                                               DUO_TAG_KEY_BYTES, DUO_TAG_KEY_BYTES, 1));
        CHECK_STATUS(DUO_OK, backend->tag(queue, there, (size_t)blocks, key, there_too));
        const size_t all = (size_t)blocks * sizeof *tags;
        CHECK_STATUS(DUO_OK, backend->copy_now(queue, tags, all, there_too, all, all, 1));
        for (int i = 0; i < blocks; i++)
            differ += !equal(tags[i], duo_tags_of(host + (size_t)i * PAGE, duo_tags_key()));
        CHECK(differ == 0, "%d of %d blocks", differ, blocks);
    }
    CHECK_STATUS(DUO_OK, backend->release(0, there));
    CHECK_STATUS(DUO_OK, backend->release(0, there_too));
    CHECK_STATUS(DUO_OK, backend->close(queue));
    free(host);
    free(tags);
    test_context_end(ctx);
}

static const test_entry tests[] = {
    {"tags_by_definition", tags_by_definition},
    {"tags_of_device", tags_of_device},
    {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "tags", tests); }
