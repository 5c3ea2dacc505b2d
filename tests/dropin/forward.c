/*
 * forward.c - forward LIBRARY: looks at a library as libblastrampoline's lbt_forward does, and
 * prints the suffix of its names, the width of its integers, and which files isamax and sgemm are
 * taken from. Exit status 1: lbt_forward would refuse it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void *find(void *handle, const char *name, const char *suffix)
{
    char symbol[64];
    snprintf(symbol, sizeof symbol, "%s%s", name, suffix);
    return dlsym(handle, symbol);
}

static const char *file_of(const void *address)
{
    Dl_info info;
    if (address == NULL || dladdr(address, &info) == 0) return "nowhere";
    const char *const slash = strrchr(info.dli_fname, '/');
    return slash != NULL ? slash + 1 : info.dli_fname;
}

/* `n` is 3 for a BLAS that reads 32 bits, and negative for one that reads 64. */
static int bits(const void *address)
{
    const int64_t n = (int64_t)0xffffffff00000003, one = 1;
    const float x[] = {1.0f, 2.0f, 1.0f};
    int64_t (*isamax)(const int64_t *, const float *, const int64_t *);
    memcpy(&isamax, &address, sizeof isamax);
    const int64_t largest = isamax(&n, x, &one) & 0xffffffff;
    return largest == 0 ? 64 : largest == 2 ? 32 : 0;
}

int main(int argc, char **argv)
{
    static const char *const suffixes[] = {"", "_", "__", "64", "64_", "_64__", "__64___"};
    void *const handle = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (handle == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        const void *const isamax = find(handle, "isamax_", suffixes[i]);
        if (isamax == NULL) continue;
        printf("suffix \"%s\", %d bits, isamax of %s, sgemm of %s\n", suffixes[i], bits(isamax),
               file_of(isamax), file_of(find(handle, "sgemm_", suffixes[i])));
        return 0;
    }
    return 1;
}
