/* output.c - see output.h */
#define _GNU_SOURCE
#include "bench/tool/output.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Files ---- */

static bool complain(const char *path, const char *why)
{
    fprintf(stderr, "duoblas: cannot write %s: %s\n", path, why);
    return false;
}

bool duo_output_possible(const char *path)
{
    char copy[4096];
    struct stat status;
    if ((size_t)snprintf(copy, sizeof copy, "%s", path) >= sizeof copy)
        return complain(path, "the path is too long");
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
        return complain(path, "not a regular file");
    if (access(dirname(copy), W_OK | X_OK) != 0) return complain(path, strerror(errno));
    return true;
}

bool duo_output_open(duo_output *output, const char *path)
{
    output->file = NULL;
    const int length = snprintf(output->path, sizeof output->path, "%s", path);
    if (length < 0 || (size_t)length + 24 >= sizeof output->path)
        return complain(path, "the path is too long");
    snprintf(output->temporary, sizeof output->temporary, "%.4000s.%ld.tmp", path, (long)getpid());
    const int number =
        open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    output->file = number < 0 ? NULL : fdopen(number, "w");
    if (output->file != NULL) return true;
    const int problem = errno;
    if (number >= 0) {
        close(number);
        (void)unlink(output->temporary);
    }
    return complain(path, strerror(problem));
}

bool duo_output_close(duo_output *output, bool good)
{
    const bool whole = fflush(output->file) == 0 && !ferror(output->file);
    const bool closed = fclose(output->file) == 0;
    if (good && whole && closed && rename(output->temporary, output->path) == 0) return true;
    const int problem = errno;
    (void)unlink(output->temporary);
    return complain(output->path, good ? strerror(problem) : "it could not be made");
}

/* ---- Pictures ---- */

static bool ends_in(const char *text, const char *end)
{
    const size_t length = strlen(text), least = strlen(end);
    return length > least && strcmp(text + length - least, end) == 0;
}

bool duo_picture_named_well(const char *path)
{
    return strpbrk(path, "'\n") == NULL &&
           (ends_in(path, ".svg") || ends_in(path, ".png") || ends_in(path, ".gp"));
}

bool duo_picture_possible(const char *path)
{
    if (!ends_in(path, ".gp") && system("gnuplot --version >/dev/null 2>&1") != 0) {
        fprintf(stderr,
                "duoblas: cannot draw %s: gnuplot is missing (Debian: apt install gnuplot-nox); "
                "a .gp can be drawn elsewhere\n",
                path);
        return false;
    }
    return duo_output_possible(path);
}

bool duo_picture_open(duo_picture *picture, const char *path, int width, int height)
{
    /* The output reserves a name beside the picture's. gnuplot draws to that name. */
    if (!duo_output_open(&picture->output, path)) return false;
    picture->script = ends_in(path, ".gp");
    (void)signal(SIGPIPE, SIG_IGN);
    picture->gnuplot = picture->script ? picture->output.file : popen("gnuplot", "w");
    if (picture->gnuplot == NULL) {
        fprintf(stderr, "duoblas: gnuplot does not start\n");
        return duo_output_close(&picture->output, false);
    }
    const bool png = ends_in(path, ".png");
    fprintf(picture->gnuplot, "set terminal %s size %d,%d font '%s,11' background '#ffffff'\n",
            png ? "pngcairo" : "svg", width, height, png ? "sans" : "sans-serif");
    if (picture->script)
        fprintf(picture->gnuplot, "set output '%.*s.svg'\n", (int)strlen(path) - 3, path);
    else
        fprintf(picture->gnuplot, "set output '%s'\n", picture->output.temporary);
    return true;
}

bool duo_picture_close(duo_picture *picture)
{
    fprintf(picture->gnuplot, "set output\n");
    bool good = !ferror(picture->gnuplot);
    if (!picture->script) {
        const int status = pclose(picture->gnuplot);
        good = good && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    if (!good) fprintf(stderr, "duoblas: gnuplot could not draw\n");
    return duo_output_close(&picture->output, good);
}

void duo_picture_text(duo_picture *picture, const char *text)
{
    for (; *text != '\0'; text++)
        if (strchr("'\\{}^_@&~\n", *text) == NULL) fputc(*text, picture->gnuplot);
}
