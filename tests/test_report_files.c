/*
 * test_report_files.c - the outputs of a crossover for programs: JSON and CSV. The figures are an
 * H100's, as published.
 */
#define _GNU_SOURCE
#include <cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/crossover/crossover.h"
#include "support/crossover_csv.h"
#include "support/folder.h"
#include "support/harness.h"
#include "support/shown.h"

/* ---- JSON ---- */

static const cJSON *get(const cJSON *object, const char *key)
{
    const cJSON *const item = cJSON_GetObjectItemCaseSensitive(object, key);
    CHECK(item != NULL, "no key %s", key);
    return item;
}

/* The first object of a list with these values; NULL: none. */
static const cJSON *find(const cJSON *list, const char *operation, const char *family,
                         const char *residence)
{
    const cJSON *item;
    cJSON_ArrayForEach(
        item,
        list) if (strcmp(cJSON_GetStringValue(get(item, "operation")), operation) == 0 &&
                  strcmp(cJSON_GetStringValue(get(item, "family")), family) == 0 &&
                  strcmp(cJSON_GetStringValue(get(item, "residence")), residence) == 0) return item;
    return NULL;
}

static double number(const cJSON *object, const char *key)
{
    return cJSON_GetNumberValue(get(object, key));
}

static void json(void)
{
    char path[600];
    duo_crossover *const x = test_read_crossover(TEST_CROSSOVER_CSV);
    if (x == NULL) return;
    x->item[0].figure[DUO_SERIES_GPU].low_seconds = 2.5e-5;
    test_folder_begin();
    snprintf(path, sizeof path, "%s/crossover.json", test_folder());
    test_case("json/machine");
    CHECK(duo_crossover_json(x, path), "written");
    cJSON *const root = cJSON_Parse(test_read_back(path));
    if (!CHECK(root != NULL, "it is no JSON")) return;
    CHECK(number(root, "format") == 1, "format");
    CHECK(number(get(root, "machine"), "threads") == 16, "threads");
    CHECK(cJSON_GetArraySize(get(root, "verdict")) == 4, "verdict");
    CHECK(cJSON_GetArraySize(get(root, "cases")) == x->cases, "cases");

    test_case("json/crossings");
    const cJSON *const c = find(get(root, "crossings"), "sgemm", "n x n x n", "pageable");
    CHECK(number(c, "threshold") == 384 && number(c, "largest") == 8192, "sizes");
    CHECK(number(c, "meet") > 343 && number(c, "meet") < 345, "meet");
    CHECK(number(c, "meet_low") == number(c, "meet") && number(c, "meet_high") == number(c, "meet"),
          "no noise is known: no range");
    const cJSON *const never = find(get(root, "crossings"), "ssum", "n", "pinned");
    CHECK(strcmp(cJSON_GetStringValue(get(never, "verdict")), "never") == 0, "never");
    CHECK(cJSON_IsNull(get(never, "threshold")) && cJSON_IsNull(get(never, "meet")), "null");
    CHECK(number(find(get(root, "break_even_reuse"), "sdot", "n", "pageable"), "calls") == 1,
          "calls");

    test_case("json/figures");
    const cJSON *figure;
    int low = 0, all = 0;
    cJSON_ArrayForEach(figure, get(cJSON_GetArrayItem(get(root, "cases"), 0), "figures"))
    {
        low += cJSON_IsNumber(get(figure, "seconds_low"));
        all += number(figure, "seconds_median") > 0.0;
        CHECK(cJSON_IsFalse(get(figure, "predicted")), "measured");
    }
    CHECK(low == 1 && all == 14, "%d with quartiles of %d", low, all);
    cJSON_Delete(root);
    test_folder_end();
    free(x);
}

/* ---- CSV ---- */

/* The CSV can be read again, and has the same answer. */
static void csv(void)
{
    char path[600];
    duo_crossover *const x = test_read_crossover(TEST_CROSSOVER_CSV);
    if (x == NULL) return;
    test_folder_begin();
    snprintf(path, sizeof path, "%s/crossover.csv", test_folder());
    test_case("csv/round-trip");
    CHECK(duo_crossover_csv(x, path), "written");
    duo_crossover *const again = test_read_crossover(path);
    CHECK(again != NULL && again->cases == x->cases && again->threads == 16, "cases");
    for (int i = 0; again != NULL && i < x->cases; i++)
        for (int s = 0; s < DUO_SERIES; s++) {
            const double wrote = x->item[i].figure[s].median_seconds,
                         read = again->item[i].figure[s].median_seconds;
            CHECK(read >= 0.999 * wrote && read <= 1.001 * wrote, "%g, not %g", read, wrote);
        }
    test_folder_end();
    free(again);
    free(x);
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {{"json", json}, {"csv", csv}, {NULL, NULL}};
    return test_main(argc, argv, "report_files", tests);
}
