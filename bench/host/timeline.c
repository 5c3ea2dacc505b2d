/*
 * timeline.c - `duoblas bench timeline`: when which panel went up, which product ran and which tile
 * came home, as a picture.
 *
 * A row for each lane of each device, a box for each step. Reads lines of
 * device,lane,step,begin_ms,end_ms, in any order; # begins a comment, and a head may name the
 * columns. The lanes are up, multiply, down and, drawn only if a step is in them, peer and host; a
 * step's name has no comma.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/experiments/experiments.h"
#include "bench/host/host.h"
#include "bench/tool/picture.h"
#include "bench/tool/tool.h"
#include "gpu/backend/backend.h"

static const struct {
    const char *name, *title, *colour; /* colours that the colour-blind can tell apart */
} lanes[] = {{"up", "A and B go up", "#E69F00"},
             {"multiply", "products", "#0072B2"},
             {"down", "C comes home", "#009E73"},
             {"peer", "from GPU to GPU", "#56B4E9"},
             {"host", "the host copies", "#CC79A7"}};
enum { LANES = sizeof lanes / sizeof lanes[0], ALWAYS = 3, NAME = 32, LINE = 256 };

typedef struct step {
    int device, lane;
    char name[NAME];
    double begin, end; /* ms */
} step;

typedef struct timeline {
    step *step;
    size_t count, room;
    int devices;
    bool drawn[LANES]; /* of each device */
    double end;
} timeline;

/* ---- Reading ---- */

static bool parse_step(const char *text, step *s)
{
    char lane[NAME];
    int length = 0;
    if (sscanf(text, "%d,%31[^,],%31[^,],%lf,%lf %n", &s->device, lane, s->name, &s->begin, &s->end,
               &length) != 5 ||
        text[length] != '\0')
        return false;
    s->lane = 0;
    while (s->lane < LANES && strcmp(lane, lanes[s->lane].name) != 0) s->lane++;
    return s->lane < LANES && s->device >= 0 && s->device < DUO_MOST_DEVICES && s->begin >= 0.0 &&
           s->end >= s->begin && s->end < 1e12;
}

static bool add(timeline *t, const step *s)
{
    if (t->count == t->room) {
        const size_t room = t->room > 0 ? 2 * t->room : 1024;
        step *const larger = realloc(t->step, room * sizeof *larger);
        if (larger == NULL) return false;
        t->step = larger;
        t->room = room;
    }
    t->step[t->count++] = *s;
    if (s->device >= t->devices) t->devices = s->device + 1;
    if (s->end > t->end) t->end = s->end;
    t->drawn[s->lane] = true;
    return true;
}

/* False, and said on stderr: it cannot be read, or is no such CSV. */
static bool read_steps(const char *path, timeline *t)
{
    char text[LINE];
    int line = 0;
    bool good = true;
    step s;
    FILE *const file = fopen(path, "r");
    if (file == NULL) {
        fprintf(stderr, "duoblas: cannot read %s\n", path);
        return false;
    }
    while (good && fgets(text, sizeof text, file) != NULL) {
        line++;
        if (text[0] == '#' || strncmp(text, "device,", 7) == 0) continue;
        good = parse_step(text, &s) && add(t, &s);
    }
    good = good && !ferror(file);
    (void)fclose(file);
    if (!good)
        fprintf(stderr, "duoblas: %s, line %d: not device,lane,step,begin_ms,end_ms\n", path, line);
    else if (t->count == 0)
        fprintf(stderr, "duoblas: %s has no steps\n", path);
    return good && t->count > 0;
}

/* ---- Drawing ---- */

/* So many lanes before this one are drawn. */
static int row_of(const timeline *t, int lane)
{
    int row = 0;
    for (int i = 0; i < lane; i++) row += t->drawn[i];
    return row;
}

/* From the bottom; the first device's lanes are at the top. */
static int height_of(const timeline *t, int device, int lane)
{
    return (t->devices - device) * (row_of(t, LANES) + 1) - row_of(t, lane);
}

static void send_boxes(const timeline *t, int lane, FILE *file)
{
    fprintf(file, "$d%d << EOD\n", lane);
    for (size_t i = 0; i < t->count; i++) {
        const step *const s = &t->step[i];
        if (s->lane != lane) continue;
        const double y = height_of(t, s->device, lane);
        fprintf(file, "%.6g %g %.6g %.6g %g %g\n", 0.5 * (s->begin + s->end), y, s->begin, s->end,
                y - 0.4, y + 0.4);
    }
    fprintf(file, "EOD\n");
}

/* Its name stands in a box that has room for it. */
static void send_names(const timeline *t, duo_picture *picture)
{
    for (size_t i = 0; i < t->count; i++) {
        const step *const s = &t->step[i];
        const double letters = (double)strlen(s->name);
        if (s->end - s->begin < 0.009 * letters * t->end) continue;
        fprintf(picture->gnuplot, "set label '");
        duo_picture_text(picture, s->name);
        fprintf(picture->gnuplot, "' at %.6g,%d center font ',8' tc rgb '#ffffff' front\n",
                0.5 * (s->begin + s->end), height_of(t, s->device, s->lane));
    }
}

static void send_rows(const timeline *t, FILE *file)
{
    fprintf(file, "set ytics (");
    for (int device = 0; device < t->devices; device++)
        for (int lane = 0; lane < LANES; lane++)
            if (t->drawn[lane])
                fprintf(file, "%s'GPU %d %s' %d", device + lane > 0 ? ", " : "", device,
                        lanes[lane].name, height_of(t, device, lane));
    fprintf(file, ")\nset yrange [0:%d]\n", t->devices * (row_of(t, LANES) + 1) + 2);
}

static bool draw(const timeline *t, const char *path)
{
    duo_picture picture;
    if (!duo_picture_open(&picture, path, 1100, 120 + 110 * t->devices)) return false;
    FILE *const file = picture.gnuplot;
    for (int lane = 0; lane < LANES; lane++)
        if (t->drawn[lane]) send_boxes(t, lane, file);
    fprintf(file,
            "set xlabel 'ms'\nset xrange [0:%.6g]\nset grid x lc rgb '#dddddd' lt 1\n"
            "set border 3 lc rgb '#808080'\nset tics nomirror out scale 0.5\n"
            "set key top left horizontal reverse Left samplen 1 font ',9'\n"
            "set style fill solid 1.0 border rgb '#ffffff'\n",
            t->end > 0.0 ? t->end : 1.0);
    send_rows(t, file);
    send_names(t, &picture);
    fprintf(file, "plot ");
    for (int lane = 0; lane < LANES; lane++)
        if (t->drawn[lane])
            fprintf(file, "%s$d%d using 1:2:3:4:5:6 with boxxyerror lc rgb '%s' title '%s'",
                    lane > 0 ? ", " : "", lane, lanes[lane].colour, lanes[lane].title);
    fprintf(file, "\n");
    return duo_picture_close(&picture);
}

bool duo_timeline_draw(const char *csv, const char *path)
{
    timeline t = {.devices = 0};
    for (int lane = 0; lane < ALWAYS; lane++) t.drawn[lane] = true;
    const bool good = read_steps(csv, &t) && draw(&t, path);
    free(t.step);
    return good;
}

int duo_bench_timeline(duo_bench *b)
{
    return duo_timeline_draw(b->word, b->plot) ? EXIT_SUCCESS : DUO_EXIT_FAILURE;
}
