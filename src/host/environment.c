/* environment.c - the DUOBLAS_ variables (environment.h). */
#define _GNU_SOURCE
#include "host/environment.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static duo_environment environment;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void complain(const char *variable, const char *value)
{
    (void)snprintf(environment.complaint[environment.complaints++], sizeof environment.complaint[0],
                   "%s=%.60s is not understood and ignored", variable, value);
}

/* The index of the variable's value in names[], or fallback. */
static int choice(const char *variable, const char *const names[], int count, int fallback)
{
    const char *const value = secure_getenv(variable);
    if (value == NULL || *value == '\0') return fallback;
    for (int i = 0; i < count; i++)
        if (strcmp(value, names[i]) == 0) return i;
    complain(variable, value);
    return fallback;
}

/* A copy, because programs overwrite the memory of their environment. NULL: not set, or empty. */
static const char *text(const char *variable)
{
    const char *const value = secure_getenv(variable);
    return value != NULL && *value != '\0' ? strdup(value) : NULL;
}

/* A whole number in [0, largest], or fallback. A letter of `units` may follow it: the first means
 * 2^10, the second 2^20 and so on. */
static double number(const char *variable, const char *units, double largest, double fallback)
{
    const char *const value = secure_getenv(variable);
    if (value == NULL || *value == '\0') return fallback;
    char *end;
    double parsed = (double)strtoull(value, &end, 10);
    const char *const unit = *end != '\0' ? strchr(units, *end) : NULL;
    if (unit != NULL) {
        parsed = ldexp(parsed, 10 * (int)(unit - units + 1));
        end++;
    }
    if (*value < '0' || *value > '9' || *end != '\0' || parsed > largest) {
        complain(variable, value);
        return fallback;
    }
    return parsed;
}

/* A decimal number from 0 to 1; 0 if it is not set. (strtod goes by the program's locale.) */
static double part(const char *variable)
{
    const char *const value = secure_getenv(variable);
    if (value == NULL || *value == '\0') return 0.0;
    const char *at = value;
    double parsed = 0.0, place = 1.0;
    while (*at >= '0' && *at <= '9') parsed = 10.0 * parsed + (*at++ - '0');
    if (at > value && *at == '.')
        for (at++; *at >= '0' && *at <= '9'; at++) parsed += (place /= 10.0) * (*at - '0');
    if (*at == '\0' && parsed <= 1.0) return parsed;
    complain(variable, value);
    return 0.0;
}

/* The number of this process among those that an MPI launcher started on this machine; -1: no
 * launcher did. The names of Open MPI, Intel MPI, MVAPICH, PALS and Slurm. */
static int local_rank(void)
{
    static const char *const variables[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                            "MV2_COMM_WORLD_LOCAL_RANK", "PALS_LOCAL_RANKID",
                                            "SLURM_LOCALID"};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *const value = secure_getenv(variables[i]);
        if (value == NULL || *value < '0' || *value > '9') continue;
        char *end;
        const unsigned long rank = strtoul(value, &end, 10);
        if (*end == '\0' && rank < 1024) return (int)rank;
    }
    return -1;
}

/* Reads `all`, or a list of different numbers with commas between them. */
static void read_devices(const char *variable)
{
    enum { LARGEST = 1023 };
    const char *const value = secure_getenv(variable);
    environment.device_count = 1;
    environment.devices[0] = environment.device;
    if (value == NULL || *value == '\0') return;
    if (strcmp(value, "all") == 0) {
        environment.device_count = 0;
        return;
    }
    int list[DUO_ENVIRONMENT_DEVICES], count = 0;
    for (const char *at = value;; at++) {
        char *end;
        const unsigned long device = strtoul(at, &end, 10);
        bool good = *at >= '0' && *at <= '9' && (*end == ',' || *end == '\0') &&
                    device <= LARGEST && count < DUO_ENVIRONMENT_DEVICES;
        for (int i = 0; i < count; i++) good = good && list[i] != (int)device;
        if (!good) {
            complain(variable, value);
            return;
        }
        list[count++] = (int)device;
        at = end;
        if (*at == '\0') break;
    }
    for (int i = 0; i < count; i++) environment.devices[i] = list[i];
    environment.device_count = count;
    environment.device = list[0];
    environment.device_by_rank = false;
}

enum { MATHS = DUO_MATH_FLOAT64 + 1 };
static const char *const math_names[MATHS] = {
    [DUO_MATH_ACCURATE] = "accurate",
    [DUO_MATH_IEEE] = "ieee",
    [DUO_MATH_TF32] = "tf32",
    [DUO_MATH_FLOAT64] = "float64",
};

static void read_all(void)
{
    static const char *const paths[3] = {
        [DUO_PATH_AUTO] = "auto", [DUO_PATH_CPU] = "cpu", [DUO_PATH_GPU] = "gpu"};
    static const char *const levels[3] = {"0", "1", "2"};
    static const char *const opening[2] = {
        [DUO_OPEN_FIRST] = "first", [DUO_OPEN_BACKGROUND] = "background"};
    static const char *const remembering[3] = {
        [DUO_REMEMBER_NONE] = "0", [DUO_REMEMBER_BYTES] = "bytes", [DUO_REMEMBER_PAGES] = "pages"};
    environment.path = (duo_path)choice("DUOBLAS_PATH", paths, 3, DUO_PATH_AUTO);
    environment.math = (duo_math)choice("DUOBLAS_MATH", math_names, MATHS, DUO_MATH_ACCURATE);
    environment.verbose = choice("DUOBLAS_VERBOSE", levels, 3, 0);
    environment.check = choice("DUOBLAS_CHECK", levels, 2, 0) == 1;
    environment.wipe = choice("DUOBLAS_WIPE", levels, 2, 0) == 1;
    environment.adapt = choice("DUOBLAS_ADAPT", levels, 2, 0) == 1;
    environment.remember =
        (duo_remember)choice("DUOBLAS_REMEMBER", remembering, 3, DUO_REMEMBER_NONE);
    environment.open = (duo_open)choice("DUOBLAS_OPEN", opening, 2, DUO_OPEN_FIRST);
    environment.verify = part("DUOBLAS_VERIFY");
    const int rank = local_rank();
    const int device = (int)number("DUOBLAS_DEVICE", "", 1023, -1.0);
    environment.device_by_rank = device < 0 && rank >= 0;
    environment.device = device >= 0 ? device : rank >= 0 ? rank : 0;
    read_devices("DUOBLAS_DEVICES");
    environment.device_memory_bytes =
        number("DUOBLAS_DEVICE_MEMORY", "KMG", 0x1p63, (double)INFINITY);
    environment.workspace_bytes = number("DUOBLAS_WORKSPACE", "KMG", 0x1p63, 0x1p32);
    environment.profile = text("DUOBLAS_PROFILE");
    environment.cpu_blas = text("DUOBLAS_CPU_BLAS");
}

const duo_environment *duo_environment_get(void)
{
    pthread_once(&once, read_all);
    return &environment;
}

const char *duo_math_name(duo_math math) { return math_names[math]; }
