/* folder.c - a folder of the test's own. */
#define _GNU_SOURCE
#include "support/folder.h"

#include "support/harness.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

static char path[512];

void test_folder_begin(void)
{
    const char *const base = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/duoblas-XXXXXX",
             base != NULL && *base != '\0' ? base : P_tmpdir);
    CHECK(mkdtemp(path) != NULL, "%s", path);
}

const char *test_folder(void) { return path; }

static int remove_entry(const char *entry, const struct stat *info, int kind, struct FTW *where)
{
    (void)info, (void)kind, (void)where;
    return remove(entry);
}

void test_folder_end(void) { nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS); }
