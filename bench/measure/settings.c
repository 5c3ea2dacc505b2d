/* settings.c - see settings.h */
#define _GNU_SOURCE
#include "bench/measure/settings.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 8 };

static const char *in_use; /* the settings of the last call */
static struct {
    char *name, *value; /* of a variable before that; value NULL: it was not set */
} former[MOST];
static int formers;

static void give_back(void)
{
    while (formers > 0) {
        formers--;
        if (former[formers].value != NULL)
            (void)setenv(former[formers].name, former[formers].value, 1);
        else
            (void)unsetenv(former[formers].name);
        free(former[formers].name);
        free(former[formers].value);
    }
}

/* Sets one, "NAME=VALUE" of this length. */
static void set(const char *setting, size_t length)
{
    char *const name = strndup(setting, length);
    char *const equals = name != NULL ? strchr(name, '=') : NULL;
    if (equals == NULL || formers == MOST) {
        free(name);
        return;
    }
    *equals = '\0';
    const char *const value = getenv(name);
    former[formers].value = value != NULL ? strdup(value) : NULL;
    former[formers].name = name;
    formers++;
    (void)setenv(name, equals + 1, 1);
}

void duo_settings_use(const char *settings)
{
    if (settings == in_use) return;
    give_back();
    in_use = settings;
    for (const char *at = settings; at != NULL && *at != '\0';) {
        const size_t length = strcspn(at, ",");
        set(at, length);
        at += length + (at[length] == ',');
    }
}
