/*
 * test_api.c - every status of the public functions that make, set and describe; texts, and
 * silence. Operations are in test_api_operations.c, memory in test_api_memory.c, functions that
 * tell of the last call in test_api_explain.c.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "gpu/backend/devices.h"
#include "sim/sim.h"
#include "support/harness.h"

static int devices(void)
{
    int count = -1;
    CHECK_STATUS(DUO_OK, duo_device_count(&count));
    return count;
}

/* ---- Contexts ---- */

static void create_and_destroy(void)
{
    test_case("create, destroy");
    CHECK_STATUS(DUO_ERR_NULL, duo_create(NULL));
    CHECK_STATUS(DUO_OK, duo_destroy(NULL));
    duo_context *a = NULL, *b = NULL;
    CHECK_STATUS(DUO_OK, duo_create(&a));
    CHECK_STATUS(DUO_OK, duo_create(&b));
    CHECK(a != NULL && b != NULL && a != b, "two contexts");
    CHECK_STATUS(DUO_OK, duo_destroy(a));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_destroy(a));
    CHECK_STATUS(DUO_OK, duo_synchronize(b));
    CHECK_STATUS(DUO_OK, duo_destroy(b));
}

static void log_nowhere(void *user, const char *line) { (void)user, (void)line; }

/* Every function that takes a context, with one that is not live; outputs stay as they are. */
static void refuse_context(duo_context *dead)
{
    float x[4] = {1, 2, 3, 4}, result = 5.0f;
    void *ptr = x;
    duo_decision decision = {.size = sizeof decision};
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_destroy(dead));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_set_path(dead, DUO_PATH_CPU));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_set_math(dead, DUO_MATH_IEEE));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_set_threads(dead, 1));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_set_device(dead, 0));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_set_stream(dead, NULL));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_set_priority(dead, DUO_PRIORITY_HIGH));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_set_log(dead, log_nowhere, NULL));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_warm_up(dead));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_synchronize(dead));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_sgemm(dead, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 1, 1,
                                            1, 1.0f, x, 1, x, 1, 0.0f, &result, 1));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_sasum(dead, 4, x, 1, &result));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_ssum(dead, 4, x, 1, &result));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_sdot(dead, 4, x, 1, x, 1, &result));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_ssum(dead, 0, x, 1, &result));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_malloc(dead, 16, &ptr));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_free(dead, x));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_malloc_host(dead, 16, &ptr));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_free_host(dead, x));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_copy(dead, &result, x, 4));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_adopt(dead, x, 16));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_disown(dead, x));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_trim(dead));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_keep(dead, x, 16));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_changed(dead, x, 16));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_fetch(dead, x, 16));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_release(dead, x));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_prepare(dead, x, 16));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_explain_last(dead, &decision));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_set_adapt(dead, 1));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_set_remember(dead, DUO_REMEMBER_BYTES));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_set_open(dead, DUO_OPEN_FIRST));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_set_async(dead, 1));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_set_decide(dead, NULL, NULL));
    CHECK(duo_error_detail(dead) != NULL, "detail of a dead context");
    CHECK(result == 5.0f && ptr == (void *)x && decision.operation == NULL, "an output changed");
}

static void dead_contexts(void)
{
    test_case("an ended context");
    refuse_context(test_dead_context());
    test_case("something that was never a context");
    static max_align_t zeros[512];
    refuse_context((duo_context *)(void *)zeros);
}

static void setters(void)
{
    duo_context *ctx = NULL;
    int threads = 0;
    test_case("setters");
    CHECK_STATUS(DUO_OK, duo_create(&ctx));
    for (int path = DUO_PATH_AUTO; path <= DUO_PATH_GPU; path++)
        CHECK_STATUS(DUO_OK, duo_set_path(ctx, (duo_path)path));
    CHECK_STATUS(DUO_ERR_ENUM, duo_set_path(ctx, (duo_path)-1));
    CHECK_STATUS(DUO_ERR_ENUM, duo_set_path(ctx, (duo_path)3));
    CHECK_STATUS(DUO_OK, duo_set_math(ctx, DUO_MATH_ACCURATE));
    CHECK_STATUS(DUO_OK, duo_set_math(ctx, DUO_MATH_IEEE));
    CHECK_STATUS(DUO_OK, duo_set_math(ctx, DUO_MATH_TF32));
    CHECK_STATUS(DUO_OK, duo_set_math(ctx, DUO_MATH_FLOAT64));
    CHECK_STATUS(DUO_ERR_ENUM, duo_set_math(ctx, (duo_math)4));
    CHECK_STATUS(DUO_ERR_ENUM, duo_set_math(ctx, (duo_math)-1));
    CHECK_STATUS(DUO_OK, duo_set_priority(ctx, DUO_PRIORITY_HIGH));
    CHECK_STATUS(DUO_OK, duo_set_priority(ctx, DUO_PRIORITY_NORMAL));
    CHECK_STATUS(DUO_ERR_ENUM, duo_set_priority(ctx, (duo_priority)2));
    CHECK_STATUS(DUO_ERR_ENUM, duo_set_priority(ctx, (duo_priority)-1));
    CHECK_STATUS(DUO_OK, duo_set_threads(ctx, 2));
    CHECK_STATUS(DUO_OK, duo_get_threads(ctx, &threads));
    CHECK(threads == 2 || threads == 1, "%d threads", threads); /* a quota may leave one */
    CHECK_STATUS(DUO_OK, duo_set_threads(ctx, 0));
    CHECK_STATUS(DUO_ERR_SIZE, duo_set_threads(ctx, -1));
    CHECK_STATUS(DUO_ERR_DEVICE, duo_set_device(ctx, -1));
    CHECK_STATUS(DUO_ERR_DEVICE, duo_set_device(ctx, devices()));
    if (devices() == 0) {
        CHECK_STATUS(DUO_ERR_DEVICE, duo_set_device(ctx, 0));
        test_contains(duo_error_detail(ctx), "there is no usable GPU: ");
        CHECK_STATUS(DUO_ERR_DEVICE, duo_set_stream(ctx, (void *)ctx));
    } else {
        CHECK_STATUS(DUO_OK, duo_set_device(ctx, devices() - 1));
        CHECK_STATUS(DUO_OK, duo_set_device(ctx, 0));
        CHECK_STATUS(DUO_OK, duo_set_stream(ctx, NULL));
    }
    CHECK_STATUS(DUO_OK, duo_set_log(ctx, log_nowhere, NULL));
    CHECK_STATUS(DUO_OK, duo_set_log(ctx, NULL, NULL));
    CHECK_STATUS(DUO_OK, duo_warm_up(ctx));
    CHECK_STATUS(DUO_OK, duo_trim(ctx));
    CHECK_STATUS(DUO_OK, duo_synchronize(ctx));
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
    test_case("setters of the default context");
    CHECK_STATUS(DUO_OK, duo_set_path(NULL, DUO_PATH_CPU));
    CHECK_STATUS(DUO_OK, duo_set_path(NULL, DUO_PATH_AUTO));
    CHECK_STATUS(DUO_ERR_ENUM, duo_set_path(NULL, (duo_path)7));
    CHECK_STATUS(DUO_OK, duo_synchronize(NULL));
    CHECK_STATUS(DUO_OK, duo_trim(NULL));
}

/* A stream of the caller's is handed to the backend, and the context's own comes back with NULL. */
static void streams(void)
{
    if (!test_on_sim()) {
        test_skip("needs the simulated device");
        return;
    }
    test_case("stream");
    duo_context *ctx = test_context();
    int stream;
    float x[3] = {1, 2, 3}, sum = NAN;
    CHECK_STATUS(DUO_OK, duo_set_stream(ctx, &stream));
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, 3, x, 1, &sum));
    CHECK(sum == 6.0f, "%g", (double)sum);
    CHECK_STATUS(DUO_OK, duo_set_stream(ctx, NULL));
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, 2, x, 1, &sum));
    CHECK(sum == 3.0f, "%g", (double)sum);
    CHECK(sim_count(SIM_OPEN) == 2, "%ju queues opened", (uintmax_t)sim_count(SIM_OPEN));
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
}

/* ---- Devices ---- */

static void device_facts(void)
{
    test_case("devices");
    CHECK_STATUS(DUO_ERR_NULL, duo_device_count(NULL));
    const int count = devices();
    CHECK(test_gpu_side() ? count > 0 : count >= 0, "%d", count);
    duo_device_info info = {.size = sizeof info};
    CHECK_STATUS(DUO_ERR_NULL, duo_device_describe(0, NULL));
    CHECK_STATUS(DUO_ERR_DEVICE, duo_device_describe(-1, &info));
    CHECK_STATUS(DUO_ERR_DEVICE, duo_device_describe(count, &info));
    CHECK(info.name[0] == '\0', "written on failure");
    if (count == 0) return;
    info.size = 8;
    CHECK_STATUS(DUO_ERR_SIZE, duo_device_describe(0, &info));
    info.size = sizeof info;
    CHECK_STATUS(DUO_OK, duo_device_describe(0, &info));
    CHECK(info.size == sizeof info && info.name[0] != '\0' && info.memory_bytes > 0 &&
              info.memory_free_bytes <= info.memory_bytes && info.capability_major > 0 &&
              info.multiprocessors > 0 && info.driver_version > 0,
          "%s, %ju of %ju bytes free", info.name, (uintmax_t)info.memory_free_bytes,
          (uintmax_t)info.memory_bytes);
    CHECK(!test_on_sim() || strcmp(info.name, "Simulated GPU") == 0, "%s", info.name);
}

typedef struct kept_lines {
    int count;
    char last[2048];
} kept_lines;

static void keep_line(void *user, const char *line)
{
    kept_lines *const lines = user;
    lines->count++;
    snprintf(lines->last, sizeof lines->last, "%s", line);
}

static void several_devices(void)
{
    if (!test_on_sim()) {
        test_skip("needs the simulated device");
        return;
    }
    test_case("several devices");
    sim_set_devices(3);
    duo_backend_install(sim_backend());
    CHECK(devices() == 3, "%d", devices());
    duo_context *ctx = test_context();
    float x[3] = {1, 2, 3}, sum = NAN;
    for (int d = 0; d < 3; d++) {
        CHECK_STATUS(DUO_OK, duo_set_device(ctx, d));
        CHECK_STATUS(DUO_OK, duo_ssum(ctx, 3, x, 1, &sum));
        CHECK(sum == 6.0f, "device %d: %g", d, (double)sum);
    }
    kept_lines lines = {0};
    CHECK_STATUS(DUO_OK, duo_set_log(ctx, keep_line, &lines));
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_GPU));
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, 3, x, 1, &sum));
    test_contains(lines.last, " side=gpu ");
    test_contains(lines.last, " device=2 ");
    CHECK_STATUS(DUO_ERR_DEVICE, duo_set_device(ctx, 3));
    test_contains(duo_error_detail(ctx), "there is no GPU 3; they are 0 to 2");
    CHECK_STATUS(DUO_ERR_DEVICE, duo_set_devices(ctx, (const int[]){1, 1}, 2));
    test_contains(duo_error_detail(ctx), "GPU 1: it is named twice");
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
}

/* ---- Texts ---- */

static void texts(void)
{
    static const duo_status all[] = {
#define TEST_STATUS(name, value, text) name,
        DUO_STATUS_LIST(TEST_STATUS)
#undef TEST_STATUS
    };
    test_case("texts");
    const int count = sizeof all / sizeof all[0];
    for (int i = 0; i < count; i++) {
        const char *const text = duo_status_string(all[i]);
        CHECK((int)all[i] == -i && text != NULL && text[0] != '\0', "status %d", (int)all[i]);
        CHECK(strcmp(text, "unknown status") != 0, "status %d", (int)all[i]);
        for (int j = 0; j < i; j++)
            CHECK(strcmp(text, duo_status_string(all[j])) != 0, "%d and %d", i, j);
    }
    CHECK(strcmp(duo_status_string((duo_status)1), "unknown status") == 0, "1");
    CHECK(strcmp(duo_status_string((duo_status)-count), "unknown status") == 0, "%d", -count);
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", duo_version() / 10000, duo_version() / 100 % 100,
             duo_version() % 100);
    CHECK(duo_version() == DUO_VERSION && DUO_VERSION > 0, "%d", duo_version());
    CHECK(strncmp(DUO_VERSION_STRING, version, strlen(version)) == 0, "%s", version);
    CHECK(duo_error_detail(NULL) != NULL, "detail");
}

/* ---- Silence, and the log ---- */

static void some_calls(duo_context *ctx)
{
    float x[50], c[25], result;
    void *ptr = NULL;
    for (int i = 0; i < 50; i++) x[i] = 1.0f;
    (void)duo_warm_up(ctx);
    (void)duo_ssum(ctx, 50, x, 1, &result);
    (void)duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 5, 5, 5, 1.0f, x, 5, x, 5, 0.0f,
                    c, 5);
    (void)duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 5, 5, 5, 1.0f, NULL, 5, x, 5,
                    0.0f, c, 5);
    (void)duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 5, 5, 5, 1.0f, x, 1, x, 5, 0.0f,
                    c, 5);
    (void)duo_malloc(ctx, SIZE_MAX, &ptr);
    (void)duo_free(ctx, x);
    (void)duo_release(ctx, x);
    (void)duo_set_device(ctx, 1000);
}

static void silence(void)
{
    char text[512];
    test_case("silence");
    duo_context *ctx = test_context();
    test_capture_begin();
    some_calls(ctx);
    some_calls(NULL);
    const size_t written = test_capture_end(text, sizeof text);
    CHECK(written == 0, "the library printed: %s", text);

    test_case("log");
    kept_lines lines = {0};
    float x[3] = {1, 2, 3}, result = 0.0f;
    CHECK_STATUS(DUO_OK, duo_set_log(ctx, keep_line, &lines));
    test_capture_begin();
    const duo_status status = duo_ssum(ctx, 3, x, 1, &result);
    const size_t printed = test_capture_end(text, sizeof text);
    CHECK_STATUS(DUO_OK, status);
    CHECK(lines.count == 1 && printed == 0, "%d lines, %zu bytes printed", lines.count, printed);
    CHECK(strstr(lines.last, "ssum") != NULL && strstr(lines.last, "n=3") != NULL &&
              strstr(lines.last, "algorithm=") != NULL && strchr(lines.last, '\n') == NULL,
          "%s", lines.last);
    CHECK(strstr(lines.last, test_gpu_side() ? "side=gpu" : "side=cpu") != NULL, "%s", lines.last);
    duo_decision d = {.size = sizeof d};
    CHECK_STATUS(DUO_OK, duo_explain_last(ctx, &d));
    CHECK(d.seconds >= 0.0, "a logged call is timed");
    CHECK_STATUS(DUO_OK, duo_set_log(ctx, NULL, NULL));
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, 3, x, 1, &result));
    CHECK(lines.count == 1, "%d lines", lines.count);
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
}

/* Everything that a context took is given back with it. */
static void nothing_leaks(void)
{
    if (!test_on_sim()) {
        test_skip("needs the simulated device");
        return;
    }
    test_case("leaks");
    const int before = sim_leaks();
    duo_context *ctx = test_context();
    some_calls(ctx);
    CHECK(sim_leaks() > before, "nothing was used");
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
    CHECK(sim_leaks() == before, "%d, then %d", before, sim_leaks());
}

static const test_entry tests[] = {
    {"create_and_destroy", create_and_destroy},
    {"dead_contexts", dead_contexts},
    {"setters", setters},
    {"streams", streams},
    {"device_facts", device_facts},
    {"several_devices", several_devices},
    {"texts", texts},
    {"silence", silence},
    {"nothing_leaks", nothing_leaks},
    {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "api", tests); }
