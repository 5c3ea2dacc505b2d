/*
 * timeline.c - `duoblas bench timeline`: a picture of a streamed product: when panels went up,
 * products ran, and tiles came home. With -n it first records the steps of a product of host
 * arrays, by the devices' clocks.
 *
 * The picture has a row for each lane of each device, and a box for each step. The input has lines
 * of device,lane,step,begin_ms,end_ms, in any order; # begins a comment, and a head may name the
 * columns. The lanes are up, multiply and down; peer and host are drawn only if they have a step. A
 * step's name has no comma.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/host/host.h"
#include "bench/studies/studies.h"
#include "bench/tool/explain.h"
#include "bench/tool/output.h"
#include "bench/tool/tool.h"
#include "call/context.h"
#include "data/recording.h"
#include "gpu/backend/backend.h"

/* The lanes, in the order of duo_row. */
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
    bool drawn[LANES]; /* on all devices */
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

/* Reads the steps. False, after a message on stderr: the file cannot be read, or is not this
 * CSV. */
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

/* The number of drawn lanes before this one. */
static int row_of(const timeline *t, int lane)
{
    int row = 0;
    for (int i = 0; i < lane; i++) row += t->drawn[i];
    return row;
}

/* The height of a lane, from the bottom; the first device's lanes are at the top. */
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

/* Sends the names of steps; only boxes with room get one. */
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

static bool draw_steps(const char *csv, const char *picture)
{
    timeline t = {.devices = 0};
    for (int lane = 0; lane < ALWAYS; lane++) t.drawn[lane] = true;
    const bool good = read_steps(csv, &t) && draw(&t, picture);
    free(t.step);
    return good;
}

/* ---- Recording ---- */

static bool write_records(const duo_recording *recording, const duo_plan *plan, const char *path)
{
    duo_output output;
    if (!duo_output_open(&output, path)) return false;
    duo_steps_head(output.file);
    for (int i = 0; i < recording->count; i++) {
        const duo_record *const r = &recording->record[i];
        duo_steps_line(output.file, &plan->step[r->step], lanes[r->row].name, r->begin, r->end);
    }
    return duo_output_close(&output, true);
}

/* Writes the steps of the second of two calls. The first makes the stamps. */
static bool record_call(duo_context *context, const duo_call *call, const char *path)
{
    const duo_implementation ours = duo_api_implementation(context, NULL, true);
    duo_resources *const res = &duo_context_of(context)->resources;
    duo_recording recording = {.count = 0};
    res->recording = &recording;
    const bool called = ours.call(&ours, call) && ours.call(&ours, call) && ours.finish(&ours);
    res->recording = NULL;
    const bool good = called && recording.complete && recording.count > 0;
    if (!good)
        fprintf(stderr, "duoblas: no timeline: duo_sgemm %s\n",
                called ? "did not work in steps on a GPU" : "failed");
    const bool written = good && write_records(&recording, &res->plan, path);
    free(recording.record);
    return written;
}

static bool open_context(const duo_bench *b, duo_context **context)
{
    int device[DUO_MOST_DEVICES];
    for (int i = 0; i < DUO_MOST_DEVICES; i++) device[i] = i;
    if (duo_create(context) == DUO_OK &&
        (b->devices == 0 || duo_set_devices(*context, device, b->devices) == DUO_OK) &&
        duo_warm_up(*context) == DUO_OK)
        return true;
    fprintf(stderr, "duoblas: the devices could not be opened\n");
    return false;
}

static bool record(const duo_bench *b)
{
    duo_context *context = NULL;
    duo_arrays arrays = {.context = NULL};
    duo_problem problem[DUO_MOST_PROBLEMS];
    const duo_place place = b->memory < 0 ? DUO_PLACE_PAGEABLE : (duo_place)b->memory;
    (void)duo_bench_problems(b, DUO_SGEMM, problem);
    bool good = open_context(b, &context);
    if (good && !duo_arrays_open(&arrays, context, place, problem, 1, b->seed)) {
        fprintf(stderr, "duoblas: out of memory\n");
        good = false;
    }
    if (good) {
        const duo_call call = duo_arrays_call(&arrays, problem);
        good = record_call(context, &call, b->word);
    }
    duo_arrays_close(&arrays);
    if (context != NULL) (void)duo_destroy(context);
    return good;
}

int duo_bench_timeline(duo_bench *b)
{
    const bool good =
        (b->sizes == 0 || record(b)) && (b->plot == NULL || draw_steps(b->word, b->plot));
    return good ? EXIT_SUCCESS : DUO_EXIT_FAILURE;
}
