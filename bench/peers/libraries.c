/* libraries.c - see libraries.h */
#define _GNU_SOURCE
#include "bench/peers/libraries.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "bench/measure/blas_instance.h"
#include "bench/peers/cublas.h"
#include "cpu/blas_library.h"

/* A row for each mode of a known library, or for each name of its file: then the first counts. */
static const struct {
    const char *title, *file, *settings;
} known[] = {
    {"GEMMul8 fast 6", "libgemmul8.so", "GEMMUL8_NUM_MOD_S=6,GEMMUL8_FASTMODE_S=1"},
    {"GEMMul8 fast 8", "libgemmul8.so", "GEMMUL8_NUM_MOD_S=8,GEMMUL8_FASTMODE_S=1"},
    {"GEMMul8 accurate 8", "libgemmul8.so", "GEMMUL8_NUM_MOD_S=8,GEMMUL8_FASTMODE_S=0"},
    {"cuMpSGEMM FP16TCEC", "libcumpsgemm.so", "CUMPSGEMM_COMPUTE_MODE=FP16TCEC"},
    {"cuMpSGEMM TF32TCEC", "libcumpsgemm.so", "CUMPSGEMM_COMPUTE_MODE=TF32TCEC"},
    {"OpenBLAS", "libopenblas.so.0", ""},
    {"BLIS", "libblis.so.4", ""},
    {"BLIS", "libblis.so.3", ""},
    {"MKL", "libmkl_rt.so.2", ""},
    {"libxsmm", "libxsmm.so", ""},
};
enum { KNOWN = sizeof known / sizeof known[0] };

static char missing[200];

const char *duo_libraries_missing(void) { return missing; }

/* ---- Opening ---- */

static void find_file(duo_library *library, const char *file)
{
    Dl_info info;
    const bool found = dladdr(library->function, &info) != 0 && info.dli_fname != NULL;
    snprintf(library->file, sizeof library->file, "%.250s", found ? info.dli_fname : file);
}

/* Opens the file, and finds its product. Returns NULL, or why it cannot be used. */
static const char *open_file(duo_library *library, const char *file, int threads)
{
    static duo_blas_instance blas; /* stays open, as all of them */
    const char *why = "it cannot be opened";
    if (!duo_blas_instance_open(&blas, file, &why)) return why;
    library->side = DUO_SIDE_GPU;
    library->function = dlsym(blas.handle, "cublasSgemm_v2");
    if (library->function == NULL) {
        library->side = DUO_SIDE_CPU;
        if (!duo_blas_function(blas.handle, "sgemm_", &library->function) &&
            !duo_blas_function(blas.handle, "libxsmm_sgemm", &library->function))
            return "it has neither cublasSgemm_v2 nor sgemm_";
        if (dlsym(blas.handle, "duo_version") != NULL) return "it is DuoBLAS";
        (void)duo_blas_instance_begin(&blas, threads);
    }
    find_file(library, file);
    return NULL;
}

static void add_missing(const char *file)
{
    const size_t length = strlen(missing);
    if (strstr(missing, file) == NULL)
        snprintf(missing + length, sizeof missing - length, "%s%s", length > 0 ? ", " : "", file);
}

/* "libfast.so.1" with "MODE=2": "fast MODE=2" */
static void title_of(duo_library *library, const char *file)
{
    const char *const slash = strrchr(file, '/');
    const char *name = slash != NULL ? slash + 1 : file;
    if (strncmp(name, "lib", 3) == 0) name += 3;
    const char *const end = strstr(name, ".so");
    const int length = end != NULL ? (int)(end - name) : (int)strlen(name);
    snprintf(library->title, sizeof library->title, "%.*s%s%.38s", length < 38 ? length : 38, name,
             library->settings[0] != '\0' ? " " : "", library->settings);
}

static bool open_named(duo_library *library, const char *named, int threads)
{
    char file[sizeof library->file];
    const size_t length = strcspn(named, ",");
    snprintf(file, sizeof file, "%.*s", (int)(length < 250 ? length : 250), named);
    snprintf(library->settings, sizeof library->settings, "%.250s",
             named[length] == ',' ? named + length + 1 : "");
    const char *const why = open_file(library, file, threads);
    if (why != NULL) fprintf(stderr, "duoblas: %s cannot be used: %s\n", file, why);
    title_of(library, file);
    return why == NULL;
}

int duo_libraries_open(duo_library library[DUO_MOST_LIBRARIES], const char *const named[],
                       int count, int threads)
{
    int found = 0;
    missing[0] = '\0';
    for (int i = 0; i < KNOWN; i++) {
        duo_library *const next = &library[found];
        *next = (duo_library){.function = NULL};
        if (found > 0 && strcmp(library[found - 1].title, known[i].title) == 0) continue;
        if (open_file(next, known[i].file, threads) != NULL) {
            add_missing(known[i].file);
            continue;
        }
        snprintf(next->title, sizeof next->title, "%s", known[i].title);
        snprintf(next->settings, sizeof next->settings, "%s", known[i].settings);
        found++;
    }
    for (int i = 0; i < count; i++) {
        library[found] = (duo_library){.function = NULL};
        if (!open_named(&library[found++], named[i], threads)) return -1;
    }
    return found;
}

/* ---- The product ---- */

static bool call_sgemm(const duo_implementation *self, const duo_call *call)
{
    const duo_operand *const o = call->operand;
    duo_fortran_sgemm sgemm;
    memcpy(&sgemm, &self->function, sizeof sgemm);
    /* Integers of 64 bits serve libraries with 32 bits, too, on a little-endian machine. */
    sgemm(call->transa ? "T" : "N", call->transb ? "T" : "N", &call->m, &call->n, &call->k,
          &call->alpha, o[DUO_A].address, &o[DUO_A].ld, o[DUO_B].address, &o[DUO_B].ld, &call->beta,
          o[DUO_C].address, &o[DUO_C].ld, 1, 1);
    return true;
}

/* Some run in a stream of their own, not in the handle's: waits for the device. */
static bool finish_device(const duo_implementation *self)
{
    static int (*wait)(void);
    if (wait == NULL) {
        void *const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        void *const address = driver != NULL ? dlsym(driver, "cuCtxSynchronize") : NULL;
        memcpy(&wait, &address, sizeof wait);
    }
    return wait != NULL && wait() == 0 && duo_implementation_finish_queue(self);
}

bool duo_peer_library(duo_implementation *peer, const duo_library *library, const duo_stock *stock)
{
    if (library->side == DUO_SIDE_GPU) {
        if (!duo_peer_cublas(peer, DUO_SGEMM, stock, false)) return false;
        peer->finish = finish_device;
    } else {
        *peer = (duo_implementation){
            .side = DUO_SIDE_CPU, .peer = true, .stock = stock, .call = call_sgemm};
    }
    peer->name = library->title;
    peer->function = library->function;
    peer->settings = library->settings;
    return true;
}
