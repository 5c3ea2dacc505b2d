/*
 * run_algorithm.c - algorithms of the tables, one by one; see run_algorithm.h.
 */
#include "support/run_algorithm.h"

#include "choice/profile_in_use.h"
#include "cpu/blas_library.h"
#include "gpu/backend/devices.h"
#include "support/data.h"
#include "support/harness.h"

#include <limits.h>
#include <string.h>

int test_algorithms(duo_operation operation, const duo_algorithm *algorithm[DUO_CANDIDATES])
{
    const duo_side side = test_mode_now() == MODE_CPU ? DUO_SIDE_CPU : DUO_SIDE_GPU;
    const duo_algorithm_table *table = &duo_algorithm_tables[operation];
    int count = 0;
    for (int i = 0; i < table->count; i++)
        if (table->algorithm[i].side == side) algorithm[count++] = &table->algorithm[i];
    return count;
}

bool test_algorithm_rounds(const duo_algorithm *algorithm)
{
    return duo_algorithm_serves(algorithm, DUO_MATH_TF32) &&
           !duo_algorithm_serves(algorithm, DUO_MATH_ACCURATE);
}

static bool accepts(const duo_algorithm *algorithm, const duo_call *call, duo_math math)
{
    const duo_conditions conditions = {
        .profile = duo_profile_in_use(),
        .path = DUO_PATH_AUTO,
        .math = math,
        .threads = call->threads,
        .gpu = test_mode_now() != MODE_CPU,
        .capability = test_mode_now() == MODE_CPU ? 0 : duo_device_capability(0),
        .device_memory_bytes = 1e18};
    if (algorithm->id == DUO_sgemm_cpu_openblas) /* whatever it costs */
        return duo_blas_library_get() != NULL && duo_blas_library_takes(call);
    return algorithm->accepts(call, &conditions);
}

bool test_algorithm_serves(const duo_algorithm *algorithm, const duo_call *call, duo_math math)
{
    return duo_algorithm_serves(algorithm, math) && accepts(algorithm, call, math);
}

bool test_algorithm_accepts(const duo_algorithm *algorithm, const duo_call *call)
{
    return accepts(algorithm, call, DUO_MATH_ACCURATE);
}

/* Device memory, pinned memory of the same size, and a queue, kept for the length of a test; device
 * memory for A and B as packed operands. */
static struct {
    duo_queue *queue;
    char *device, *pinned, *packed;
    uint64_t *pinned_result;
    size_t bytes, all_packed_bytes;
} arena;

void test_release_arena(void)
{
    const duo_backend *backend = duo_backend_current();
    if (arena.queue != NULL) CHECK_STATUS(DUO_OK, backend->close(arena.queue));
    if (arena.device != NULL) CHECK_STATUS(DUO_OK, backend->release(0, arena.device));
    if (arena.pinned != NULL) CHECK_STATUS(DUO_OK, backend->unpin(arena.pinned));
    if (arena.pinned_result != NULL) CHECK_STATUS(DUO_OK, backend->unpin(arena.pinned_result));
    if (arena.packed != NULL) CHECK_STATUS(DUO_OK, backend->release(0, arena.packed));
    arena.queue = NULL;
    arena.device = arena.pinned = arena.packed = NULL;
    arena.pinned_result = NULL;
    arena.bytes = arena.all_packed_bytes = 0;
}

static duo_status make_arena(size_t bytes)
{
    if (bytes <= arena.bytes) return DUO_OK;
    test_release_arena();
    const duo_backend *backend = duo_backend_current();
    const size_t grown = 2 * bytes;
    void *device = NULL, *pinned = NULL, *result = NULL;
    duo_status status = backend->open(0, NULL, DUO_PRIORITY_NORMAL, &arena.queue);
    if (status == DUO_OK) status = backend->allocate(0, grown, &device);
    if (status == DUO_OK) status = backend->pin(0, grown, &pinned);
    if (status == DUO_OK) status = backend->pin(0, sizeof(uint64_t), &result);
    arena.device = device;
    arena.pinned = pinned;
    arena.pinned_result = result;
    arena.bytes = status == DUO_OK ? grown : 0;
    return status;
}

/* An operand's place in the arena. Its elements equal the host's and lie at the same or a shorter
 * distance. */
typedef struct image {
    size_t first; /* byte offset of its logical first element */
    size_t bytes; /* with the poison zones; 0: not used */
    int64_t ld;
} image;

enum { IMAGE_ALIGNMENT = 256, IMAGE_ZONE = 256, LONGEST_GAP = 1 << 20 };

static image plan_image(const duo_operand *o, int64_t offset, size_t base)
{
    image im = {.ld = o->ld};
    if ((!o->read && !o->written) || o->rows <= 0 || o->columns <= 0) return im;
    const int64_t gap = (o->ld < 0 ? -o->ld : o->ld) - o->rows;
    if (gap > LONGEST_GAP) im.ld = o->ld < 0 ? -o->rows : o->rows;
    duo_operand at = *o;
    at.ld = im.ld;
    uintptr_t low, high;
    at.address = (float *)((uintptr_t)1 << 40); /* any: only the distances count */
    duo_operand_span(&at, &low, &high);
    im.first = base + IMAGE_ZONE + (size_t)offset * sizeof(float) + ((uintptr_t)at.address - low);
    im.bytes = 2 * IMAGE_ZONE + (size_t)offset * sizeof(float) + (high - low);
    im.bytes = (im.bytes + IMAGE_ALIGNMENT - 1) / IMAGE_ALIGNMENT * IMAGE_ALIGNMENT;
    return im;
}

static void fill_image(const duo_operand *o, const image *im)
{
    float *first = (float *)(void *)(arena.pinned + im->first);
    for (int64_t j = 0; j < o->columns; j++)
        memcpy(first + j * im->ld, o->address + j * o->ld, (size_t)o->rows * sizeof(float));
}

/* Takes the elements home and leaves poison in their place. */
static void empty_image(const duo_operand *o, const image *im)
{
    float *first = (float *)(void *)(arena.pinned + im->first);
    for (int64_t j = 0; j < o->columns; j++) {
        if (o->written)
            memcpy(o->address + j * o->ld, first + j * im->ld, (size_t)o->rows * sizeof(float));
    }
    for (int64_t j = 0; j < o->columns; j++) test_fill_poison(first + j * im->ld, o->rows);
}

/* If the algorithm packs operands, successive products pack none, A, B, and both. */
static duo_status write_packed(const duo_algorithm *algorithm, duo_call *moved)
{
    static unsigned product;
    const duo_backend *backend = duo_backend_current();
    size_t bytes[2];
    for (int i = DUO_A; i <= DUO_B; i++)
        bytes[i] = (backend->packed_bytes(algorithm->id, moved, i) + IMAGE_ALIGNMENT - 1) /
                   IMAGE_ALIGNMENT * IMAGE_ALIGNMENT;
    if (bytes[0] + bytes[1] == 0) return DUO_OK;
    const unsigned which = product++ % 4;
    for (int i = DUO_A; i <= DUO_B; i++)
        if ((which >> i & 1) == 0 || !moved->operand[i].read) bytes[i] = 0;
    duo_status status = DUO_OK;
    if (bytes[0] + bytes[1] > arena.all_packed_bytes) {
        if (arena.packed != NULL) status = backend->release(0, arena.packed);
        arena.packed = NULL;
        arena.all_packed_bytes = 2 * (bytes[0] + bytes[1]);
        void *memory = NULL;
        if (status == DUO_OK) status = backend->allocate(0, arena.all_packed_bytes, &memory);
        arena.packed = memory;
    }
    char *place = arena.packed;
    for (int i = DUO_A; i <= DUO_B && status == DUO_OK; i++) {
        if (bytes[i] == 0) continue;
        status = backend->pack(arena.queue, algorithm->id, moved, i, place);
        moved->operand[i].packed = place;
        place += bytes[i];
    }
    return status;
}

static int run_gpu_algorithm(const duo_algorithm *algorithm, const duo_call *call, int64_t offset,
                             bool by_pinned)
{
    const duo_backend *backend = duo_backend_current();
    duo_call moved = *call;
    image im[DUO_OPERANDS];
    size_t bytes = 0;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        im[i] = plan_image(&call->operand[i], offset, bytes);
        bytes += im[i].bytes;
    }
    duo_status status = make_arena(bytes);
    if (status != DUO_OK) return status;
    test_fill_poison((float *)(void *)arena.pinned, (int64_t)(bytes / sizeof(float)));
    for (int i = 0; i < DUO_OPERANDS; i++) {
        if (im[i].bytes == 0) continue;
        fill_image(&call->operand[i], &im[i]);
        moved.operand[i].address = (float *)(void *)(arena.device + im[i].first);
        moved.operand[i].ld = im[i].ld;
    }
    const uint32_t ticket = (uint32_t)test_bits(test_poison()) + (uint32_t)call->n;
    __atomic_store_n(arena.pinned_result, 0, __ATOMIC_RELEASE);
    status = backend->copy(arena.queue, arena.device, bytes, arena.pinned, bytes, bytes, 1);
    if (status == DUO_OK && call->operation == DUO_SGEMM) status = write_packed(algorithm, &moved);
    if (status == DUO_OK)
        status = backend->launch(arena.queue, algorithm->id, &moved,
                                 by_pinned ? arena.pinned_result : NULL, ticket);
    if (status == DUO_OK)
        status = backend->copy(arena.queue, arena.pinned, bytes, arena.device, bytes, bytes, 1);
    const duo_status finished = backend->finish(arena.queue);
    if (status == DUO_OK) status = finished;
    if (status != DUO_OK) return status;

    for (int i = 0; i < DUO_OPERANDS; i++)
        if (im[i].bytes > 0) empty_image(&call->operand[i], &im[i]);
    CHECK(test_all_poison((float *)(void *)arena.pinned, (int64_t)(bytes / sizeof(float))),
          "written outside the outputs, on the device");
    if (by_pinned) {
        const uint64_t answer = __atomic_load_n(arena.pinned_result, __ATOMIC_ACQUIRE);
        const uint32_t bits = (uint32_t)answer;
        CHECK(answer >> 32 == ticket, "ticket and result %#jx", (uintmax_t)answer);
        memcpy(call->operand[DUO_RESULT].address, &bits, sizeof bits);
    }
    return DUO_OK;
}

int test_run_algorithm(const duo_algorithm *algorithm, const duo_call *call, int64_t offset,
                       bool by_pinned)
{
    duo_call with = *call;
    if (algorithm->id == DUO_sgemm_cpu_openblas) with.threads = INT_MAX; /* as many as it has */
    if (algorithm->side == DUO_SIDE_CPU) return algorithm->run(&with);
    return run_gpu_algorithm(algorithm, call, offset, by_pinned);
}
