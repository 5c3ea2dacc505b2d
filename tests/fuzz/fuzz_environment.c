/*
 * fuzz_environment.c - the values of the DUOBLAS_ variables against any text, NAME=VALUE a line.
 *
 * Whatever they are, each setting is one of its kind, and every wrong value has a complaint.
 */
#define _GNU_SOURCE
#include <stdlib.h>

static char *value_of(const char *name);
#define secure_getenv value_of
#include "host/environment.c"

#include "fuzz/fuzz.h"

enum { MOST = 40 };
static char *line[MOST];
static int lines;

static char *value_of(const char *name)
{
    const size_t length = strlen(name);
    for (int i = 0; i < lines; i++)
        if (strncmp(line[i], name, length) == 0 && line[i][length] == '=')
            return line[i] + length + 1;
    return NULL;
}

static void check(const duo_environment *e)
{
    require(e->path <= DUO_PATH_GPU && e->math <= DUO_MATH_FLOAT64, "path and math");
    require(e->verbose >= 0 && e->verbose <= 2, "verbose");
    require(e->remember <= DUO_REMEMBER_PAGES && e->open <= DUO_OPEN_BACKGROUND, "choices");
    require(e->device >= 0 && e->device <= 1023, "the device");
    require(e->device_count >= 0 && e->device_count <= DUO_ENVIRONMENT_DEVICES, "devices");
    for (int i = 0; i < e->device_count; i++) {
        require(e->devices[i] >= 0 && e->devices[i] <= 1023, "a device of the list");
        for (int j = 0; j < i; j++) require(e->devices[i] != e->devices[j], "different devices");
    }
    require(e->device_count == 0 || e->device == e->devices[0], "the first of the list");
    require(e->device_memory_bytes >= 0.0 && e->workspace_bytes >= 0.0, "bytes");
    require(e->workspace_bytes <= 0x1p63, "workspace");
    require(e->profile == NULL || *e->profile != '\0', "a profile has a name");
    require(e->complaints >= 0 && e->complaints <= DUO_ENVIRONMENT_COMPLAINTS, "complaints");
    for (int i = 0; i < e->complaints; i++)
        require(strncmp(e->complaint[i], "DUOBLAS_", 8) == 0 &&
                    memchr(e->complaint[i], '\0', sizeof e->complaint[i]) != NULL,
                "a complaint names its variable");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *const text = text_of(data, size), *rest = text;
    lines = 0;
    while (lines < MOST && (line[lines] = next_line(&rest)) != NULL) lines++;
    environment = (duo_environment){.path = DUO_PATH_AUTO};
    read_all();
    check(&environment);
    free((void *)(uintptr_t)environment.profile);
    free((void *)(uintptr_t)environment.cpu_blas);
    free(text);
    return 0;
}
