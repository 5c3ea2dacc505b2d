/*
 * run.c - `duoblas run -- PROGRAM ARGS`: runs a program with the drop-in preloaded, and prints a
 * summary of its BLAS calls when it ends.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/tool/arguments.h"
#include "bench/tool/tool.h"
#include "blas/append.h"
#include "host/elf.h"

enum { CANNOT_RUN = 126, NOT_FOUND = 127 }; /* exit statuses, as in shells */

typedef struct request {
    const char *summary;
    int remember; /* duo_remember; -1: as in the environment */
    bool no_summary;
    char **program;
} request;

static const duo_option options[] = {
    {"summary", 's', "FILE", 0, duo_parse_text, offsetof(request, summary), 0, 0,
     "Append the summary to FILE instead of stderr"},
    {"no-summary", 'n', NULL, 0, duo_parse_flag, offsetof(request, no_summary), 0, 0,
     "Only preload"},
    {"remember", 'r', "0|bytes|pages", 0, duo_parse_choice, offsetof(request, remember), 0, 0,
     "Send a matrix that comes again each time, compare its bytes, or watch its pages (default: "
     "DUOBLAS_REMEMBER, else bytes)"},
    {.name = NULL},
};

static error_t take_program(void *into, struct argp_state *state, const char *value)
{
    (void)value;
    ((request *)into)->program = &state->argv[state->next - 1];
    state->next = state->argc; /* the rest is the program's */
    return 0;
}

static error_t check(void *into, struct argp_state *state)
{
    if (((request *)into)->program != NULL) return 0;
    argp_error(state, "which program?");
    return EINVAL;
}

/* ---- Is a program linked statically? ---- */

/* Opens the file that execvp would run; -1: there is none. */
static int open_program(const char *program)
{
    const int how = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
    const char *folder = getenv("PATH");
    if (strchr(program, '/') != NULL || folder == NULL) return open(program, how);
    while (true) {
        const char *const end = strchrnul(folder, ':');
        char path[PATH_MAX];
        const int length = snprintf(path, sizeof path, "%.*s%s%s", (int)(end - folder), folder,
                                    end > folder ? "/" : "", program);
        if (length < PATH_MAX && access(path, X_OK) == 0) return open(path, how);
        if (*end == '\0') return -1;
        folder = end + 1;
    }
}

static bool is_static(const char *program)
{
    duo_elf f;
    int count = 0;
    const int file = open_program(program);
    const bool mapped = file >= 0 && duo_elf_map(&f, file, false);
    if (file >= 0) (void)close(file);
    if (!mapped) return false;
    const ElfW(Phdr) *const segment = duo_elf_segments(&f, &count);
    const bool answer = segment != NULL && !duo_elf_is_dynamic(segment, count);
    duo_elf_unmap(&f);
    return answer;
}

/* ---- The command ---- */

/* Finds the drop-in: beside this tool (as built), or in the lib folder beside the tool's (as
 * installed). */
static bool find_library(char path[PATH_MAX])
{
    static const char *const folders[] = {"", DUO_LIBRARY_FOLDER "/"};
    char self[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0) return false;
    self[length] = '\0';
    const char *const folder = dirname(self);
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        char candidate[2 * PATH_MAX];
        snprintf(candidate, sizeof candidate, "%s/%s" DUO_DROP_IN, folder, folders[i]);
        if (realpath(candidate, path) != NULL) return true;
    }
    return false;
}

/* Can the file be written? Later the failure could not be reported. */
static bool can_append(const char *file)
{
    const int opened = duo_append_open(file);
    return opened >= 0 && close(opened) == 0;
}

/* Sets the file of the summary, by its full path: the program, and programs that it starts, may
 * work in other folders. False: it failed, with the reason in errno. */
static bool ask_for_summary(const char *summary)
{
    char folder[PATH_MAX], process[24], *file = NULL;
    if (summary == NULL) return unsetenv("DUOBLAS_SUMMARY") == 0;
    snprintf(process, sizeof process, "%ld", (long)getpid());
    if (setenv("DUOBLAS_RUN", process, 1) != 0) return false;
    if (strcmp(summary, "stderr") == 0) return setenv("DUOBLAS_SUMMARY", summary, 1) == 0;
    if (!can_append(summary)) return false;
    if (*summary == '/') return setenv("DUOBLAS_SUMMARY", summary, 1) == 0;
    return getcwd(folder, sizeof folder) != NULL &&
           asprintf(&file, "%s/%s", folder, summary) >= 0 &&
           setenv("DUOBLAS_SUMMARY", file, 1) == 0;
}

/* Adds the library to LD_PRELOAD. False: no memory. */
static bool preload(char *library)
{
    const char *const others = getenv("LD_PRELOAD");
    char *all = library;
    if (others != NULL && *others != '\0' && asprintf(&all, "%s:%s", library, others) < 0)
        return false;
    return setenv("LD_PRELOAD", all, 1) == 0;
}

/* Runs the program in this process. Returns only if it failed: the exit status. */
static int run(const request *r)
{
    static const char *const ways[] = {"0", "bytes", "pages"};
    char library[PATH_MAX];
    if (!find_library(library)) {
        fprintf(stderr, "duoblas: " DUO_DROP_IN " is not where this tool expects it\n");
        return CANNOT_RUN;
    }
    if (strpbrk(library, " :") != NULL) { /* LD_PRELOAD separates names by these */
        fprintf(stderr, "duoblas: cannot preload %s: a space or colon in its name\n", library);
        return CANNOT_RUN;
    }
    if (!ask_for_summary(r->summary)) {
        fprintf(stderr, "duoblas: no summary can be written to %s: %s\n", r->summary,
                strerror(errno));
        return CANNOT_RUN;
    }
    if (r->remember >= 0 && setenv("DUOBLAS_REMEMBER", ways[r->remember], 1) != 0)
        return DUO_EXIT_FAILURE;
    if (!preload(library)) return DUO_EXIT_FAILURE;
    if (r->summary != NULL && is_static(r->program[0]))
        fprintf(stderr, "duoblas: no BLAS call of %s will reach DuoBLAS: it is linked statically\n",
                r->program[0]);
    execvp(r->program[0], r->program);
    const int why = errno;
    fprintf(stderr, "duoblas: %s: %s\n", r->program[0], strerror(why));
    return why == ENOENT ? NOT_FOUND : CANNOT_RUN;
}

int duo_tool_run(int argc, char **argv)
{
    request r = {.summary = "stderr", .remember = -1};
    duo_arguments arguments = {
        .words = "[--] PROGRAM [ARG...]",
        .doc = "Run a program with DuoBLAS as its sgemm, sdot, sasum and ssum.\v"
               "Examples:\n"
               "  $ duoblas run -- python3 program.py\n"
               "  $ duoblas run --summary calls.txt -- octave program.m",
        .option = options,
        .into = &r,
        .word = take_program,
        .end = check,
    };
    const int status = duo_tool_parse(&arguments, argc, argv);
    if (status != 0) return status;
    if (r.no_summary) r.summary = NULL;
    return run(&r);
}
