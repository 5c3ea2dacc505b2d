/*
 * test_blas_objects.c - how the drop-in sees the objects of a process: the names in their files,
 * also in damaged ones, what they ask the loader for, and odd callers.
 */
#define _GNU_SOURCE
#include "blas/unreached.c"

#include <sys/mman.h>
#include <sys/stat.h>

#include "support/folder.h"
#include "support/harness.h"

/* ---- Names ---- */

/* All that is found by one name, in words. */
static const char *found(const object *o)
{
    static char text[9 * TEXT];
    snprintf(text, sizeof text, "%s%s%s%s%s%s%s%s%s%s%s%s%s%s", *o->asks ? "asks " : "", o->asks,
             *o->double_ ? "double " : "", o->double_, *o->direct ? "direct " : "", o->direct,
             *o->has ? "has " : "", o->has, *o->keeps ? "keeps " : "", o->keeps,
             *o->other ? "other " : "", o->other, o->mkl ? ", mkl" : "",
             o->duoblas ? "duoblas" : "");
    return text;
}

static void names(void)
{
    enum { ASKED, DEFINED, HIDDEN, OF_PROGRAM };
    static const struct {
        const char *name;
        int how;
        const char *found;
    } cases[] = {
        {"sgemm_", ASKED, "asks sgemm_"},
        {"sgemm_", DEFINED, "has sgemm_"},
        {"sgemm_", HIDDEN, "keeps sgemm_"},
        {"cblas_sasum", ASKED, "asks cblas_sasum"},
        {"dAlas_sgemm", ASKED, ""}, /* has the hash of cblas_sgemm */
        {"dAlas_sgemm", DEFINED, ""},
        {"_Z5sgemmv", ASKED, ""},
        {"_sgemm", DEFINED, "other _sgemm"},
        {"dgemm_", ASKED, "double dgemm_"},
        {"dgemm_", DEFINED, ""},
        {"cblas_dgemm64_", ASKED, "double cblas_dgemm64_"},
        {"my_dgemm", ASKED, ""}, /* my_sgemm would not be served */
        {"dgemm_of_a_name_as_long_as_hardly_any_other_one_and_a_bit_longer", ASKED, ""},
        {"my_sgemm", DEFINED, "other my_sgemm"},
        {"my_sgemm", HIDDEN, ""},
        {"my_sgemm", ASKED, ""},
        {"lib3_sgemm_64_", DEFINED, "other lib3_sgemm_64_"},
        {"mysgemm", DEFINED, ""},
        {"My_sgemm", DEFINED, ""},
        {"my.0_sgemm", DEFINED, ""},
        {"my_sgemm_kernel", DEFINED, ""},
        {"my_sdot", DEFINED, ""},
        {"mkl_blas_sgemm", DEFINED, "other mkl_blas_sgemm, mkl"},
        {"mkl_blas_sgemm", ASKED, ""},
        {"duo_sgemm", ASKED, "direct duo_sgemm"},
        {"duo_sgemm", DEFINED, "other duo_sgemm"},
        {"duo_sgemm", OF_PROGRAM, "direct duo_sgemm"},
        {"duo_version", DEFINED, "duoblas"},
        {"duo_version", HIDDEN, ""},
        {"duo_version", ASKED, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int how = cases[i].how;
        object o = {.program = how == OF_PROGRAM};
        test_case("blas_objects/name/%s/%d", cases[i].name, how);
        see(&o, cases[i].name, how != ASKED, how == ASKED || how == DEFINED);
        CHECK(strcmp(found(&o), cases[i].found) == 0, "found \"%s\"", found(&o));
    }
}

/* ---- Files ---- */

typedef struct elf {
    ElfW(Ehdr) head;
    ElfW(Shdr) section[2];
    ElfW(Sym) symbol[2];
    char names[16];
} elf;

static elf whole_file(void)
{
    return (elf){
        .head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3,
                             sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32},
                 .e_shnum = 2,
                 .e_shoff = offsetof(elf, section)},
        .section = {{.sh_type = SHT_DYNSYM,
                     .sh_link = 1,
                     .sh_offset = offsetof(elf, symbol),
                     .sh_size = sizeof(ElfW(Sym[2]))},
                    {.sh_type = SHT_STRTAB, .sh_offset = offsetof(elf, names), .sh_size = 16}},
        .symbol = {{.st_name = 1, .st_shndx = 1}, {.st_name = 8, .st_shndx = SHN_UNDEF}},
        .names = "\0sgemm_\0sdot_"};
}

static void expect_found(const char *damage, const elf *f, size_t size, const char *what)
{
    object o = {.program = false};
    elf copy = *f;
    test_case("blas_objects/%s", damage);
    read_tables(&o, &(duo_elf){(char *)&copy, size});
    CHECK(strcmp(found(&o), what) == 0, "found \"%s\"", found(&o));
}

static void damaged_files(void)
{
    elf f = whole_file();
    expect_found("whole", &f, sizeof f, "asks sdot_has sgemm_");
    expect_found("cut in the names", &f, sizeof f - 1, "");
    expect_found("cut in the head", &f, sizeof f.head - 1, "");
    f.head.e_ident[1] = 'X';
    expect_found("no ELF file", &f, sizeof f, "");
    f = whole_file();
    f.head.e_shoff += 8;
    f.head.e_shnum = 0xffff;
    expect_found("sections outside", &f, sizeof f, "");
    f = whole_file();
    f.section[0].sh_type = SHT_PROGBITS;
    expect_found("no table", &f, sizeof f, "");
    f = whole_file();
    f.section[0].sh_type = SHT_SYMTAB;
    expect_found("the table of a linker", &f, sizeof f, "asks sdot_keeps sgemm_");
    f = whole_file();
    f.section[0].sh_link = 2;
    expect_found("names in no section", &f, sizeof f, "");
    f = whole_file();
    f.section[0].sh_offset = sizeof f;
    expect_found("table outside", &f, sizeof f, "");
    f = whole_file();
    f.section[1].sh_offset = sizeof f + 8;
    expect_found("names outside", &f, sizeof f, "");
    f = whole_file();
    f.section[1].sh_size = 0;
    expect_found("no names", &f, sizeof f, "");
    f = whole_file();
    f.section[1].sh_size = UINT64_MAX;
    expect_found("endless names", &f, sizeof f, "");
    f = whole_file();
    f.section[1].sh_size = 12; /* inside sdot_ */
    expect_found("the last name has no end", &f, sizeof f, "");
    f = whole_file();
    f.symbol[1].st_name = 16;
    expect_found("a name outside", &f, sizeof f, "has sgemm_");
}

static void no_files(void)
{
    static const char *const paths[] = {"/nonexistent/file", "/", "/dev/null"};
    for (int i = 0; i < 3; i++) {
        object o = {.program = false};
        test_case("blas_objects%s", paths[i]);
        look_into(&o, paths[i]);
        CHECK(*found(&o) == '\0', "found \"%s\"", found(&o));
    }
}

/* ---- Loaded objects ---- */

static duo_blas_object *object_of(duo_blas_objects *objects, const char *path)
{
    for (int i = 0; i < objects->count; i++)
        if (strcmp(objects->object[i].path, path) == 0) return &objects->object[i];
    return NULL;
}

static bool is_in(const duo_blas_asked *list, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0) return true;
    return false;
}

/* The names that an object asks for; none of an object that is gone, and none beyond the room. */
static void asked(void)
{
    enum { MOST = 16 };
    duo_blas_asked list[MOST];
    test_case("blas_objects/asked");
    void *const handle = dlopen(TEST_PLUG_ODD, RTLD_NOW | RTLD_LOCAL);
    duo_blas_objects objects = duo_blas_loaded();
    const duo_blas_object *const plug = object_of(&objects, TEST_PLUG_ODD);
    if (CHECK(handle != NULL && plug != NULL, "%s", dlerror())) {
        const int count = duo_blas_asks(plug, list, MOST);
        CHECK(is_in(list, count, "sgemm_") && is_in(list, count, "sgemmtr_"), "%d names", count);
        CHECK(!is_in(list, count, "_Z5sgemmv"), "one of C++");
        for (int i = 0; i < count; i++)
            CHECK(strlen(list[i].name) < sizeof list[i].name && list[i].given == *list[i].place,
                  "%d is \"%s\"", i, list[i].name);
        list[1].name[0] = '\0';
        CHECK(count > 2 && duo_blas_asks(plug, list, 1) == 1 && *list[1].name == '\0', "no end");
        CHECK(duo_blas_asks(plug, list, 0) == 0, "more than none");
        CHECK(duo_blas_asks(&(duo_blas_object){"/gone", plug->base}, list, MOST) == 0, "gone");
        CHECK(duo_blas_asks(&(duo_blas_object){TEST_PLUG_ODD, 1}, list, MOST) == 0, "elsewhere");
    }
    duo_blas_free_objects(&objects);
    if (handle != NULL) (void)dlclose(handle);
}

/* Copies of the CPU's BLAS are told by the names of their memory. */
static void private_copies(void)
{
    static const struct {
        const char *name;
        bool private;
    } cases[] = {{"duoblas-libopenblas", true},
                 {"duoblas", false},
                 {"duo", false},
                 {"another-libopenblas", false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[64];
        const int memory = memfd_create(cases[i].name, MFD_CLOEXEC);
        test_case("blas_objects/memory %s", cases[i].name);
        snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
        CHECK(memory >= 0 && duo_blas_is_private(path) == cases[i].private, "%s", path);
        (void)close(memory);
        CHECK(!duo_blas_is_private(path), "%s, which is closed", path);
    }
    test_case("blas_objects/files");
    CHECK(!duo_blas_is_private("/lib/libblas.so.3") && !duo_blas_is_private(""), "a file");
}

static int copy(const char *from, int to)
{
    char bytes[4096];
    ssize_t got;
    bool good = true;
    const int file = open(from, O_RDONLY | O_CLOEXEC);
    if (file < 0 || to < 0) return -1;
    while ((got = read(file, bytes, sizeof bytes)) > 0)
        good = good && write(to, bytes, (size_t)got) == got;
    close(file);
    return good ? to : -1;
}

/* A copy of a plug-in has no BLAS beside it: it finds the one that is loaded. */
static double call_plug(const char *path)
{
    double (*plug)(double, double);
    (void)dlopen(TEST_PLUG, RTLD_NOW | RTLD_LOCAL);
    void *const handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *const address = handle != NULL ? dlsym(handle, "plug") : NULL;
    if (!CHECK(address != NULL, "%s", dlerror())) return -1.0;
    memcpy(&plug, &address, sizeof plug);
    return plug(2.0, 3.0);
}

/* A private copy is nothing to tell of. */
static void private_copies_are_not_told_of(void)
{
    char path[64];
    object o;
    test_case("blas_objects/a private copy");
    const int memory = copy(TEST_PLUG, memfd_create("duoblas-plug", 0));
    snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
    CHECK(call_plug(path) == 6.0, "its product");
    duo_blas_objects objects = duo_blas_loaded();
    const duo_blas_object *const at = object_of(&objects, path);
    CHECK(at != NULL && !look_at(&o, at), "it is told of");
    duo_blas_free_objects(&objects);
    (void)close(memory);
}

/* ---- Odd callers ---- */

/* A library in a path that is longer than any that is remembered. */
static void deep_folders(void)
{
    char path[1024], name[101];
    test_case("blas_objects/a long path");
    test_folder_begin();
    memset(name, 'd', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    snprintf(path, sizeof path, "%s", test_folder());
    for (int i = 0; i < 6; i++) {
        snprintf(path + strlen(path), sizeof path - strlen(path), "/%s", name);
        CHECK(mkdir(path, 0700) == 0, "no folder");
    }
    snprintf(path + strlen(path), sizeof path - strlen(path), "/plug.so");
    const int file = copy(TEST_PLUG, open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0700));
    CHECK(file >= 0 && close(file) == 0, "no copy");
    CHECK(call_plug(path) == 6.0, "its product");
    CHECK(call_plug(path) == 6.0, "its second product");
    test_folder_end();
}

/* Code that was made at run time is in no object. */
static void code_in_no_object(void)
{
    const float a = 2.0f, b = 3.0f;
    for (int scipy = 0; scipy < 2; scipy++)
        for (int wide = 0; wide < 2; wide++) {
            float c = 1.0f;
            test_case("blas_objects/no object/scipy %d, wide %d", scipy, wide);
            void *const code = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            duo_blas_sgemm(&(duo_blas_gemm){.layout = DUO_COL_MAJOR,
                                            .transa = DUO_NO_TRANS,
                                            .transb = DUO_NO_TRANS,
                                            .m = 1,
                                            .n = 1,
                                            .k = 1,
                                            .alpha = 1.0f,
                                            .beta = 1.0f,
                                            .a = &a,
                                            .b = &b,
                                            .c = &c,
                                            .lda = 1,
                                            .ldb = 1,
                                            .ldc = 1,
                                            .wide = wide != 0,
                                            .scipy = scipy != 0,
                                            .caller = code});
            CHECK(c == 7.0f, "%g", (double)c);
            (void)munmap(code, 4096);
        }
}

/* ---- Handlers ---- */

/* A wrong argument costs a line on stderr if nobody has a handler. A library that needs a BLAS may
 * have handlers for its program. */
static void handlers(void)
{
    char text[200], expected[200];
    for (int cblas = 0; cblas < 2; cblas++)
        for (int wide = 0; wide < 2; wide++) {
            test_case("blas_objects/no handler/cblas %d, wide %d", cblas, wide);
            snprintf(expected, sizeof expected,
                     "DuoBLAS: %s: argument %d has an illegal value; nothing was done\n",
                     cblas ? "cblas_sgemm" : "sgemm", 4 + cblas);
            test_capture_begin();
            duo_blas_report(cblas != 0, wide != 0, 4);
            (void)test_capture_end(text, sizeof text);
            CHECK(strcmp(text, expected) == 0, "it says \"%s\"", text);
        }
    void *const handle = dlopen(TEST_PLUG_ODD, RTLD_NOW | RTLD_GLOBAL);
    int64_t *const argument = handle != NULL ? dlsym(handle, "plug_wrong_argument") : NULL;
    if (!CHECK(argument != NULL, "%s", dlerror())) return;
    for (int cblas = 0; cblas < 2; cblas++) {
        test_case("blas_objects/handlers of a plug-in/cblas %d", cblas);
        *argument = 0;
        duo_blas_report(cblas != 0, true, 4);
        CHECK(*argument == 4 + cblas, "argument %lld", (long long)*argument);
    }
    (void)dlclose(handle);
}

/* ---- Sentences ---- */

static void forks_are_told(void)
{
    static const char *const told[] = {"", "  it forked 1 time: children", "  it forked 2 times: "};
    for (int forks = 0; forks < 3; forks++) {
        char text[200] = "";
        FILE *const to = fmemopen(text, sizeof text, "w");
        test_case("blas_objects/forks %d", forks);
        duo_blas_tell_forks(to, forks);
        (void)fclose(to);
        CHECK(strncmp(text, told[forks], strlen(told[forks])) == 0 && (forks > 0) == (*text != 0),
              "\"%s\"", text);
    }
}

/* What is told of one object, with others that ask, or ask in vain. */
static void an_object_is_told(void)
{
    static const char has[] = "  it has sgemm_, for which no loaded object asks: it is called "
                              "inside, or found by dlsym, or not called\n",
                      linked[] = "  it has sgemm_ linked into it, which no other library can "
                                 "replace\n";
    static const struct {
        object o;
        report others;
        const char *told;
    } cases[] = {
        {{.has = "sgemm_"}, {.count = 0}, has},
        {{.has = "sgemm_"}, {.bound = true}, ""},
        {{.has = "sgemm_"}, {.asks = {.asks = "sgemm_"}}, ""},
        {{.has = "sgemm_"}, {.double_ = {.double_ = "dgemm_"}}, ""},
        {{.has = "sgemm_"}, {.direct = {.direct = "duo_sgemm"}}, ""},
        {{.has = "sgemm_", .program = true}, {.count = 0}, linked},
        {{.keeps = "sgemm_"}, {.bound = true}, linked},
        {{.other = "my_sgemm"}, {.bound = true}, "  it has my_sgemm, a name that is not served\n"},
        {{.has = "sgemm_", .mkl = true},
         {.bound = true},
         "  it has MKL, which calls its own sgemm\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[400] = "";
        FILE *const to = fmemopen(text, sizeof text, "w");
        object o = cases[i].o;
        test_case("blas_objects/told %zu", i);
        keep(o.title, "it");
        const bool is_told = tell(to, &cases[i].others, &o);
        (void)fclose(to);
        CHECK(is_told == (*cases[i].told != 0), "told: %d", is_told);
        CHECK(strcmp(text, cases[i].told) == 0, "\"%s\"", text);
    }
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {
        {"names", names},
        {"damaged_files", damaged_files},
        {"no_files", no_files},
        {"asked", asked},
        {"private_copies", private_copies},
        {"private_copies_are_not_told_of", private_copies_are_not_told_of},
        {"deep_folders", deep_folders},
        {"code_in_no_object", code_in_no_object},
        {"handlers", handlers},
        {"forks_are_told", forks_are_told},
        {"an_object_is_told", an_object_is_told},
        {NULL, NULL},
    };
    setenv("DUOBLAS_PATH", "cpu", 1);
    return test_main(argc, argv, "blas_objects", tests);
}
