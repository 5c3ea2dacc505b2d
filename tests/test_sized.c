/*
 * test_sized.c - structures that begin with their size, between a program and a library of
 * different versions: by themselves, and in the functions that take them.
 */
#include <stddef.h>
#include <string.h>

#include "gpu/backend/devices.h"
#include "host/sized.h"
#include "sim/sim.h"
#include "support/harness.h"

typedef struct older {
    size_t size;
    int32_t first, second;
} older;

typedef struct newer {
    size_t size;
    int32_t first, second, third, fourth;
} newer;

static void given(void)
{
    const older small = {sizeof small, 1, 2};
    const newer large = {sizeof large, 1, 2, 3, 4};
    older to_older = {sizeof to_older, 9, 9};
    newer to_newer = {sizeof to_newer, 9, 9, 9, 9};
    test_case("sized/given");
    duo_sized_give(&to_older, &large, sizeof large);
    CHECK(memcmp(&to_older, &small, sizeof small) == 0, "%d %d", to_older.first, to_older.second);
    duo_sized_give(&to_newer, &small, sizeof small);
    CHECK(to_newer.size == sizeof to_newer && to_newer.second == 2 && to_newer.third == 9 &&
              to_newer.fourth == 9,
          "%zu, %d %d", to_newer.size, to_newer.second, to_newer.third);
    newer partly = {offsetof(newer, fourth), 9, 9, 9, 9};
    duo_sized_give(&partly, &large, sizeof large);
    CHECK(partly.third == 3 && partly.fourth == 9, "%d %d", partly.third, partly.fourth);
}

static void taken(void)
{
    const older small = {sizeof small, 1, 2};
    newer large = {sizeof large, 1, 2, 0, 0};
    older of_older = {77, 9, 9};
    newer of_newer = {77, 9, 9, 9, 9};
    test_case("sized/taken");
    CHECK_STATUS(DUO_ERR_SIZE,
                 duo_sized_take(&of_newer, sizeof of_newer, sizeof small + 1, &small));
    large.fourth = 1;
    CHECK_STATUS(DUO_ERR_UNSUPPORTED,
                 duo_sized_take(&of_older, sizeof of_older, sizeof small, &large));
    CHECK(of_newer.size == 77 && of_newer.fourth == 9 && of_older.size == 77 && of_older.first == 9,
          "written in spite of the error");
    CHECK_STATUS(DUO_OK, duo_sized_take(&of_newer, sizeof of_newer, sizeof small, &small));
    CHECK(of_newer.size == sizeof of_newer && of_newer.first == 1 && of_newer.second == 2 &&
              of_newer.third == 0 && of_newer.fourth == 0,
          "%d %d %d %d", of_newer.first, of_newer.second, of_newer.third, of_newer.fourth);
    large.fourth = 0;
    CHECK_STATUS(DUO_OK, duo_sized_take(&of_older, sizeof of_older, sizeof small, &large));
    CHECK(of_older.size == sizeof of_older && of_older.second == 2, "%d", of_older.second);
}

/* ---- The public structures: a size below all versions', this one's, and a later one's ---- */

enum { MORE = 64 };

static void device_info(void)
{
    struct {
        duo_device_info info;
        char more[MORE];
    } d;
    sim_set_devices(1);
    duo_backend_install(sim_backend());
    for (size_t size = sizeof d.info - 1; size <= sizeof d; size += size < sizeof d.info ? 1 : 8) {
        test_case("sized/device_info/%zu", size);
        memset(&d, 0x5a, sizeof d);
        d.info.size = size;
        CHECK_STATUS(size < sizeof d.info ? DUO_ERR_SIZE : DUO_OK, duo_device_describe(0, &d.info));
        CHECK(d.info.size == size, "size became %zu", d.info.size);
        CHECK((size < sizeof d.info) == (d.info.name[0] == 0x5a), "name");
        for (int i = 0; i < MORE; i++) CHECK(d.more[i] == 0x5a, "byte %d behind it", i);
    }
}

static void work(void)
{
    struct {
        duo_work work;
        char more[MORE];
    } w;
    memset(&w, 0, sizeof w);
    w.work.kind = DUO_WORK_EMPTY;
    duo_graph *graph = NULL;
    duo_node node;
    CHECK_STATUS(DUO_OK, duo_graph_create(&graph));
    w.work.size = sizeof w;
    CHECK_STATUS(DUO_OK, duo_graph_add(graph, &w.work, NULL, 0, &node));
    for (int built = 0; built < 2; built++) {
        for (size_t size = sizeof w.work - 1; size <= sizeof w; size++) {
            test_case("sized/work/%s/%zu", built ? "built" : "not-built", size);
            w.work.size = size;
            memset(w.more, 0, sizeof w.more);
            const duo_status fits = size < sizeof w.work ? DUO_ERR_SIZE : DUO_OK;
            const duo_status asks = size > sizeof w.work ? DUO_ERR_UNSUPPORTED : fits;
            CHECK_STATUS(fits, built ? duo_graph_update(graph, node, &w.work)
                                     : duo_graph_alter(graph, node, &w.work, NULL, -1));
            w.more[size > sizeof w.work ? size - sizeof w.work - 1 : 0] = 1; /* its last byte */
            CHECK_STATUS(asks, built ? duo_graph_update(graph, node, &w.work)
                                     : duo_graph_alter(graph, node, &w.work, NULL, -1));
        }
        if (!built) CHECK_STATUS(DUO_OK, duo_graph_build(graph, NULL));
    }
    CHECK_STATUS(DUO_OK, duo_graph_launch(graph, NULL));
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
}

static const test_entry tests[] = {
    {"given", given}, {"taken", taken}, {"device_info", device_info}, {"work", work}, {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "sized", tests); }
