/*
 * plan_panels.c - plans of everything on the device (plan_panels.h).
 *
 * Panels of A and B arrive in turn; each is multiplied with all of the other operand that has
 * arrived, so the possible work grows with the square of the arrived part. (With k in two slabs the
 * device would wait less in the beginning, but C would come home later: 58 to 70 ms instead of 54,
 * 16384^3 on an H100.)
 */
#include "data/plan_panels.h"

#include <math.h>
#include <string.h>

#include "data/plan_clock.h"

enum { MOST_PANELS = 64 };

/* A range cut into panels: [edge[i], edge[i + 1]). */
typedef struct cut {
    int panels;
    int64_t edge[MOST_PANELS + 1];
} cut;

/* Panels of about the same size. */
static cut cut_of(int64_t from, int64_t size, int panels)
{
    cut c = {.panels = 0, .edge = {from}};
    for (int i = 1; i <= panels; i++) {
        const int64_t units = (int64_t)llround((double)i / panels * (double)size / DUO_PLAN_UNIT);
        const int64_t edge =
            i < panels ? from + duo_plan_least(units * DUO_PLAN_UNIT, size) : from + size;
        if (edge > c.edge[c.panels]) c.edge[++c.panels] = edge;
    }
    return c;
}

/* The shape of a plan of everything on the device: the panels of A and B, and how fast B arrives
 * relative to A, which comes first: 1, 1/2 or 1/3. */
typedef struct held_shape {
    int a_panels, b_panels;
    double b_pace;
} held_shape;

/*
 * Multiplies rows by columns that are all there. Large products go in chunks, so that one is
 * fetched while the next is multiplied. A chunk is a 24th of all the work, but large enough to keep
 * every multiprocessor busy for a few tiles.
 */
static void strip(duo_plan_making *w, duo_step where)
{
    const double all = (double)w->of->m * (double)w->of->n / w->of->devices;
    const double most = fmax(all / 24.0, 3072.0 * 3072.0);
    const double elements = (double)where.m * (double)where.n;
    const bool by_rows = where.m > where.n;
    const int64_t size = by_rows ? where.m : where.n;
    int64_t chunk = size;
    if (w->of->fetched && elements > 1.5 * most)
        chunk = duo_plan_whole_units((double)size / ceil(elements / most) + (double)DUO_PLAN_UNIT -
                                     1.0);
    for (int64_t done = 0; done < size && !w->failed; done += chunk) {
        duo_step part = where;
        const int64_t length = duo_plan_least(chunk, size - done);
        if (by_rows) {
            part.i += done;
            part.m = length;
            part.first[DUO_A] += done;
            part.first[DUO_C] += done;
        } else {
            part.j += done;
            part.n = length;
            part.first[DUO_B] += done;
            part.column += done;
        }
        duo_plan_multiply(w, part);
    }
}

/* The panels of a plan of everything on the device. */
typedef struct panels {
    duo_plan_making *w;
    cut a, b[DUO_PLAN_DEVICES];
} panels;

static duo_step step_in(const panels *s, int device, int64_t i, int64_t i_end, int64_t j,
                        int64_t j_end)
{
    duo_step step = {.device = device,
                     .follows = -1,
                     .starts = true,
                     .i = i,
                     .m = i_end - i,
                     .j = j,
                     .n = j_end - j,
                     .k = s->w->of->k};
    step.first[DUO_A] = step.first[DUO_C] = i;
    step.first[DUO_B] = step.column = j - s->b[device].edge[0];
    step.all[DUO_A] = s->a.edge[s->a.panels];
    step.all[DUO_B] = s->b[device].edge[s->b[device].panels] - s->b[device].edge[0];
    return step;
}

/* The part of panel x of A that a device is sent: some of its rows; or, if rows are cut across runs
 * of memory, some of k, so that runs keep their length. The whole panel if devices are not
 * linked. */
static duo_step part_sent_to(const panels *s, int x, int device)
{
    const duo_plan_problem *const of = s->w->of;
    const int64_t from = s->a.edge[x], to = s->a.edge[x + 1];
    const bool along_k = of->pitch[DUO_A] > 0;
    const int64_t size = along_k ? of->k : to - from;
    const int64_t low = size * device / of->devices, high = size * (device + 1) / of->devices;
    duo_step part = step_in(s, device, from, to, 0, 0);
    if (of->peer <= 0.0) return part;
    if (along_k) {
        part.p = part.deep = low;
        part.k = high - low;
    } else {
        part.i = part.first[DUO_A] = from + low;
        part.m = high - low;
    }
    return part;
}

/* A device copies from the others their parts of panel x. */
static void share_panel(const panels *s, int x, int device)
{
    for (int d = 0; d < s->w->of->devices; d++) {
        duo_step share = part_sent_to(s, x, d);
        if (d == device || share.m == 0 || share.k == 0) continue;
        share.device = device;
        share.kind = DUO_STEP_SHARE;
        share.operand = DUO_A;
        share.source = d;
        duo_plan_add(s->w, share);
    }
}

/* Panel x of A arrives: a part at each device, which the others copy; or, if devices do not reach
 * each other, all of it at each. */
static void a_arrives(panels *s, int x, int b_there)
{
    const int devices = s->w->of->devices;
    const int64_t from = s->a.edge[x], to = s->a.edge[x + 1];
    const bool shared = s->w->of->sent[DUO_A] && s->w->of->peer > 0.0;
    duo_step part[DUO_PLAN_DEVICES];
    for (int d = 0; d < devices; d++) part[d] = part_sent_to(s, x, d);
    duo_plan_send_by_turns(s->w, part, DUO_A);
    for (int d = 0; d < devices && shared; d++) share_panel(s, x, d);
    for (int d = 0; d < devices; d++) {
        const cut *const b = &s->b[d];
        duo_plan_pack(s->w, step_in(s, d, from, to, 0, 0), DUO_A);
        const int64_t there = b->edge[duo_plan_least(b_there, b->panels)];
        if (there > b->edge[0]) strip(s->w, step_in(s, d, from, to, b->edge[0], there));
    }
}

static void b_arrives(panels *s, int x, int a_there)
{
    duo_step part[DUO_PLAN_DEVICES];
    for (int d = 0; d < s->w->of->devices; d++) {
        const cut *const b = &s->b[d];
        const int64_t end = b->edge[b->panels];
        part[d] = x < b->panels ? step_in(s, d, 0, 0, b->edge[x], b->edge[x + 1])
                                : step_in(s, d, 0, 0, end, end);
    }
    duo_plan_send_by_turns(s->w, part, DUO_B);
    for (int d = 0; d < s->w->of->devices; d++) {
        const cut *const b = &s->b[d];
        if (x >= b->panels) continue;
        const int64_t there = s->a.edge[a_there];
        duo_plan_pack(s->w, step_in(s, d, 0, 0, b->edge[x], b->edge[x + 1]), DUO_B);
        if (there > 0) strip(s->w, step_in(s, d, 0, there, b->edge[x], b->edge[x + 1]));
    }
}

/* Panels of A and B in turn. */
static void arrive(panels *s, double b_pace)
{
    const duo_plan_problem *const of = s->w->of;
    int a = 0, b = 0, b_panels = 0;
    for (int d = 0; d < of->devices; d++)
        if (s->b[d].panels > b_panels) b_panels = s->b[d].panels;
    while (a < s->a.panels || b < b_panels) {
        const double a_part = (double)s->a.edge[a] / (double)of->m;
        const double b_part = (double)b / b_panels;
        if (a < s->a.panels && (b == b_panels || a_part * b_pace <= b_part)) {
            a_arrives(s, a, b);
            a++;
        } else {
            b_arrives(s, b, a);
            b++;
        }
    }
}

static void make_held(duo_plan_making *w, const held_shape *shape)
{
    const duo_plan_problem *const of = w->of;
    duo_plan_space *const space = w->plan->space;
    w->plan->held = true;
    w->plan->count = 0;
    memset(space, 0, sizeof w->plan->space);
    const int64_t widest = duo_plan_most_columns(of);
    panels s = {.w = w};
    const bool a_moves = of->sent[DUO_A], b_moves = of->sent[DUO_B] || !a_moves;
    s.a = cut_of(0, of->m, a_moves ? shape->a_panels : 1);
    for (int d = 0; d < of->devices; d++) {
        int64_t from, to;
        duo_plan_columns(of, d, &from, &to);
        s.b[d] = cut_of(from, to - from, b_moves ? shape->b_panels : 1);
    }
    for (int i = DUO_A; i <= DUO_B; i++)
        if (of->sent[i] || of->packed_bytes[i] > 0.0)
            space[i] = (duo_plan_space){
                .slots = 1, .extent = i == DUO_A ? of->m : widest, .depth = {of->k}};
    if (of->fetched)
        space[DUO_C] = (duo_plan_space){.slots = 1, .extent = of->m, .depth = {widest}};
    arrive(&s, shape->b_pace);
}

/* Makes the plan of this shape; is it the best so far? */
static void try_shape(duo_plan_making *w, const held_shape *shape, held_shape *best,
                      double *least_seconds)
{
    make_held(w, shape);
    if (w->failed) return;
    const double seconds = duo_plan_seconds(w->plan);
    if (seconds >= *least_seconds) return;
    *least_seconds = seconds;
    *best = *shape;
}

/*
 * The shapes to try; each try takes 4 us. They were chosen from 75 shapes, timed on an H100's host
 * for cubes of 1024 to 16384 from pinned and pageable memory: the clock finds them best, and they
 * were best or nearly. Mostly A has fewer panels and is there first: wide panels are cheaper to
 * send if they are cut across runs. Narrow panels of B come last, and leave little to multiply and
 * fetch when all has arrived.
 */
static const held_shape kShapes[] = {
    {1, 2, 1.0},        {1, 3, 1.0},       {1, 4, 1.0},       {1, 8, 1.0}, {2, 4, 0.5},
    {2, 8, 0.5},        {3, 6, 1.0 / 3.0}, {3, 8, 1.0 / 3.0}, {4, 8, 0.5}, {3, 12, 1.0 / 3.0},
    {5, 16, 1.0 / 3.0}, {6, 10, 1.0},      {6, 12, 1.0},      {6, 16, 1.0}};

/* A panel should take the link longer than a step takes the host: it has at least a MiB. */
bool duo_plan_panels(duo_plan_making *w)
{
    enum { SHAPES = sizeof kShapes / sizeof kShapes[0] };
    const duo_plan_problem *const of = w->of;
    const double least_panel = 0x1p20;
    const double bytes =
        4.0 * ((double)of->m + (double)of->n) * (double)of->k + 4.0 * (double)of->m * (double)of->n;
    held_shape best = {1, 1, 1.0};
    double least_seconds = INFINITY;
    try_shape(w, &best, &best, &least_seconds);
    for (int i = 0; i < SHAPES; i++)
        if (bytes / (3.0 * kShapes[i].b_panels) >= least_panel)
            try_shape(w, &kShapes[i], &best, &least_seconds);
    make_held(w, &best);
    return !w->failed;
}
