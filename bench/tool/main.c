/*
 * main.c - the command-line tool: which side wins on this machine, and why.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/tool/arguments.h"
#include "bench/tool/tool.h"
#include "host/environment.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *what;
} commands[] = {
    {"info", duo_tool_info, "show the CPU and its BLAS, the GPUs and the profile in use"},
    {"crossover", duo_tool_crossover, "measure both sides, and tell from what size the GPU wins"},
    {"explain", duo_tool_explain, "predict the time of every candidate of one call"},
    {"bench", duo_tool_bench, "time every algorithm beside OpenBLAS, cuBLAS and CUB"},
    {"run", duo_tool_run, "run a program with DuoBLAS as its BLAS, and count its calls"},
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void print_usage(FILE *file)
{
    fprintf(file, "Usage: duoblas COMMAND [OPTION...]\n\nCommands:\n");
    for (int i = 0; i < COMMANDS; i++)
        fprintf(file, "  %-10s %s\n", commands[i].name, commands[i].what);
    fprintf(file, "\n`duoblas COMMAND --help' lists the options. `duoblas --version' is "
                  "the version.\n");
}

/* Runs at every exit. If printing failed, the tool fails, even if the command did not. */
static void close_stdout(void)
{
    errno = 0;
    const bool whole = fflush(stdout) == 0 && !ferror(stdout);
    if (whole && (fclose(stdout) == 0 || errno == EBADF)) return; /* EBADF: nothing was printed */
    fprintf(stderr, "duoblas: cannot write to standard output: %s\n",
            errno != 0 ? strerror(errno) : "an earlier write failed");
    _exit(DUO_EXIT_FAILURE);
}

/* Is this setting's name, which has this length, among them? NULL ends them. */
static bool is_among(const char *const names[], const char *setting, size_t length)
{
    for (int i = 0; names[i] != NULL; i++)
        if (strlen(names[i]) == length && strncmp(setting, names[i], length) == 0) return true;
    return false;
}

/* Tells of names in the environment that nothing reads. They may be typing errors. */
static void tell_unknown(const char *program)
{
    /* `duoblas run` sets the first. The Python package and the scripts read the others. */
    static const char *const of_others[] = {"DUOBLAS_RUN",   "DUOBLAS_LIBRARY", "DUOBLAS_TOOL",
                                            "DUOBLAS_BUILD", "DUOBLAS_KIT",     NULL};
    static const char ours[] = "DUOBLAS_", of_tests[] = "DUOBLAS_TEST";
    for (char **at = environ; *at != NULL; at++) {
        const size_t length = strcspn(*at, "=");
        if (strncmp(*at, ours, strlen(ours)) != 0 ||
            strncmp(*at, of_tests, strlen(of_tests)) == 0 ||
            is_among(duo_info_variables, *at, length) || is_among(of_others, *at, length))
            continue;
        fprintf(stderr, "%s: %.*s is no variable of DuoBLAS\n", program, (int)length, *at);
    }
}

int main(int argc, char **argv)
{
    (void)atexit(close_stdout);
    if (argc < 2) {
        print_usage(stderr);
        return DUO_EXIT_USAGE;
    }
    const char *const name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_usage(stdout);
        return EXIT_SUCCESS;
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        duo_tool_print_version("duoblas");
        return EXIT_SUCCESS;
    }
    for (int i = 0; i < COMMANDS; i++) {
        if (strcmp(name, commands[i].name) != 0) continue;
        char program[32];
        snprintf(program, sizeof program, "duoblas %s", commands[i].name);
        argv[1] = program;
        const duo_environment *const environment = duo_environment_get();
        for (int k = 0; k < environment->complaints; k++)
            fprintf(stderr, "%s: %s\n", program, environment->complaint[k]);
        tell_unknown(program);
        return commands[i].run(argc - 1, argv + 1);
    }
    fprintf(stderr, "duoblas: no such command: %s\n", name);
    print_usage(stderr);
    return DUO_EXIT_USAGE;
}
