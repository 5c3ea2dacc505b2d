/*
 * team.c - one team of threads for the whole process (team.h).
 *
 * Jobs     A caller posts its job in a slot. Several callers at once have a slot each. If all slots
 *          are taken, many threads are at work already, and a caller works alone.
 * Members  The caller is member 0 of its job; helpers are the others. The pieces are cut into one
 *          run of neighbours for each member. A member takes the pieces of its own run from the
 *          front, so that a repeated job finds its data in the same caches; then it takes pieces
 *          from the ends of the others' runs.
 * Claims   A run is one word: the remaining pieces, the number of pieces begun but not done, and
 *          the job's number. So one compare-and-swap claims a piece, and a late helper sees that
 *          the job is another one. The piece function and its job are read only between a claim and
 *          the end of the piece; the caller waits for that end.
 * Helpers  They are POSIX threads. While the program's OpenMP threads run without work, a job is
 *          theirs instead (openmp_threads.h). They are never the only helpers: OpenMP's regions
 *          wait for all their threads, OpenMP ends surplus threads and makes them again as regions
 *          change in size, and a thread that cannot be made ends the process. Helpers sleep at once
 *          then: the processors are OpenMP's.
 * Waking   Waking takes 50 us. So an idle helper stays awake for a moment, and yields its processor
 *          again and again. (Not under OMP_WAIT_POLICY=passive.) A yield that returns late shows
 *          that other threads want the processor. Then the helper sleeps, and for a while goes to
 *          sleep right after each job: a thread in the queue for a processor cannot be woken, but a
 *          sleeping one may go first when it is woken, since it has asked for short turns. The
 *          caller wakes a few helpers, and each of these wakes a few more.
 * Apart    Linux may leave two members on one processor for long, while another has none. Then one
 *          of them waits for the other's piece. So an idle helper leaves a processor on which there
 *          is another awake helper, or the caller of the last job.
 * Fetching If a helper loses its processor in the middle of a piece, the caller has to wait. Then
 *          the caller moves the helper to its own processor, and the helper rests for a while after
 *          the piece.
 */
#define _GNU_SOURCE
#include "host/team.h"

#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "host/float_mode.h"
#include "host/fork.h"
#include "host/lock.h"
#include "host/machine.h"
#include "host/openmp.h"
#include "host/openmp_threads.h"
#include "host/processor.h"
#include "host/stack.h"
#include "host/thread.h"

enum {
    SLOTS = 8,
    LINE = 128, /* bytes of two cache lines: processors fetch neighbours in pairs */
    WAKES = 4,  /* helpers that a member wakes */
    SPINS = 64  /* looks at the bell between two yields */
};

/*
 * Times in nanoseconds, tuned on 16 threads of the H100's host and on two cores of an EPYC, in turn
 * with a pthread OpenBLAS with spinning idle threads.
 */
static const int64_t kAwakeNs = 2000000; /* a helper without work sleeps after this time */
static const int64_t kLateNs = 200000;   /* a longer yield is late; interrupts alone take 50 us */
/* Back-off while other threads want the processor: after a late yield a helper sleeps right after
 * each job for kShortCrowdNs. Each further late yield within kLongCrowdNs doubles that, up to
 * kLongCrowdNs. */
static const int64_t kShortCrowdNs = 4000000, kLongCrowdNs = 128000000;
static const int64_t kApartNs = 5000000;    /* from one move of a helper to the next */
static const int64_t kLongRunNs = 20000;    /* in a region: others share a longer run */
static const int64_t kPoliteNs = 20000;     /* a caller that waits longer yields its processor */
static const int64_t kRestNs = 20000000;    /* rest of a helper that kept a caller waiting */
static const int64_t kRetryNs = 1000000000; /* from a failure to make a thread to a new try */

/* ---- Runs ---- */

/* The word of a run: pieces [next, end) are left and `begun` are under way, all of job number
 * `job`. */
enum {
    COUNT_BITS = 18,
    BEGUN_BITS = 12,
    NEXT_AT = 0,
    END_AT = NEXT_AT + COUNT_BITS,
    BEGUN_AT = END_AT + COUNT_BITS,
    JOB_AT = BEGUN_AT + BEGUN_BITS
};
enum { MOST_PIECES = (1 << COUNT_BITS) - 1 }; /* of a job */
_Static_assert(JOB_AT == 48, "a job's number has 16 bits, here and in a slot's head");
_Static_assert((int)DUO_TEAM_MOST < 1 << BEGUN_BITS, "each member may have begun a piece of a run");

typedef struct run {
    _Alignas(LINE) _Atomic uint64_t word;
} run;

static uint64_t bits(uint64_t word, int at, int count)
{
    return word >> at & ((UINT64_C(1) << count) - 1);
}

static uint64_t run_word(uint64_t job, int64_t next, int64_t end)
{
    return job << JOB_AT | (uint64_t)next << NEXT_AT | (uint64_t)end << END_AT;
}

/* Claims the first or the last remaining piece of a run, and returns its number. -1: no piece of
 * this job is left. */
static int64_t claim(run *r, uint64_t job, bool last)
{
    uint64_t word = atomic_load_explicit(&r->word, memory_order_relaxed);
    for (;;) {
        const uint64_t next = bits(word, NEXT_AT, COUNT_BITS), end = bits(word, END_AT, COUNT_BITS);
        if (bits(word, JOB_AT, 64 - JOB_AT) != job || next >= end) return -1;
        const uint64_t taken =
            last ? word - (UINT64_C(1) << END_AT) : word + (UINT64_C(1) << NEXT_AT);
        if (atomic_compare_exchange_weak_explicit(&r->word, &word,
                                                  taken + (UINT64_C(1) << BEGUN_AT),
                                                  memory_order_acquire, memory_order_relaxed))
            return (int64_t)(last ? end - 1 : next);
    }
}

static void finish(run *r)
{
    atomic_fetch_sub_explicit(&r->word, UINT64_C(1) << BEGUN_AT, memory_order_release);
}

static bool under_way(run *r)
{
    return bits(atomic_load_explicit(&r->word, memory_order_acquire), BEGUN_AT, BEGUN_BITS) != 0;
}

/* ---- Slots ---- */

typedef struct slot {
    _Alignas(LINE) atomic_bool taken;
    _Alignas(LINE) _Atomic uint64_t head; /* struct head, in fields of 16 bits */
    atomic_int at;                        /* the last caller's processor, or NOWHERE */
    /* Read only by members that have claimed a piece. */
    duo_team_piece piece;
    void *job;
    int64_t first; /* the caller's number (duo_team_run) of the job's piece 0 */
    float_mode mode;
    run run[DUO_TEAM_MOST]; /* by member */
} slot;

/* Member i > 0 of a job is helper (first + i - 1) % round; there are `round` helpers. */
typedef struct head {
    uint64_t job; /* the job's number in this slot */
    int members;  /* 0: there is no job */
    int first, round;
} head;

enum { NOWHERE = -1 };

static slot slots[SLOTS] = {[0 ... SLOTS - 1] = {.at = NOWHERE}};

static uint64_t head_word(head h)
{
    return h.job << 48 | (uint64_t)h.members << 32 | (uint64_t)h.first << 16 | (uint64_t)h.round;
}

static head head_of(slot *s, memory_order order)
{
    const uint64_t word = atomic_load_explicit(&s->head, order);
    return (head){bits(word, 48, 16), (int)bits(word, 32, 16), (int)bits(word, 16, 16),
                  (int)bits(word, 0, 16)};
}

/* ---- Helpers ---- */

enum { AWAKE, ASLEEP, RESTING };

/* MOVING: a caller that waited long is moving the helper, or it moves itself. LATE: a caller has
 * moved it, and it is to rest. */
enum { IN_TIME, MOVING, LATE };

typedef struct helper {
    _Alignas(LINE) atomic_uint state; /* AWAKE, ASLEEP, RESTING; a futex */
    atomic_int standing;              /* IN_TIME, MOVING, LATE */
    atomic_int thread;                /* the system's number of the thread */
    atomic_int at;                    /* the processor of an awake helper, or NOWHERE */
    int64_t apart_ns;                 /* when it may leave its processor */
    _Atomic(const slot *) in;         /* the slot with the piece that it does; NULL: none */
    bool moved;                       /* was it moved to a caller's processor? */
    cpu_set_t from;                   /* where it was allowed before it was moved */
    bool bound;                       /* has OpenMP bound its maker to one place? */
    cpu_set_t places;                 /* then all processors of all places */
} helper;

static helper helper_of[DUO_TEAM_MOST] = {[0 ... DUO_TEAM_MOST - 1] = {.at = NOWHERE}};
static helper by_openmp; /* stands for any thread of the program's OpenMP */
static atomic_int helpers;
static _Alignas(LINE) atomic_uint bell; /* counts the jobs that were posted */
static atomic_bool dismissed;           /* are helpers without work to sleep at once? */
static int64_t refused_ns; /* when a thread could not be made, or 0; under DUO_LOCK_TEAM */

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static void wake(int number)
{
    atomic_uint *const state = &helper_of[number].state;
    unsigned asleep = ASLEEP;
    if (atomic_load_explicit(state, memory_order_seq_cst) == ASLEEP &&
        atomic_compare_exchange_strong(state, &asleep, AWAKE))
        (void)syscall(SYS_futex, state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* A member of a job wakes the next members: 0 wakes 1 to 4, 1 wakes 5 to 8, and so on. */
static void wake_others(head h, int member)
{
    for (int i = 1; i <= WAKES; i++) {
        const int other = WAKES * member + i;
        if (other < h.members) wake((h.first + other - 1) % h.round);
    }
}

/* Does a claimed piece. by: the helper, which takes the caller's floating-point mode; NULL: the
 * caller itself. */
static void do_piece(const slot *s, int64_t number, helper *by)
{
    const bool ours = by != NULL && by != &by_openmp;
    if (ours) atomic_store_explicit(&by->in, s, memory_order_relaxed);
    if (by != NULL) float_mode_adopt(s->mode);
    s->piece(s->job, s->first + number);
    if (ours) atomic_store_explicit(&by->in, NULL, memory_order_relaxed);
}

/* Does the rest of a run, from its front, or from its end if it is another member's. Returns how
 * many pieces it did. */
static int do_run(slot *s, uint64_t job, int run_of, bool another, helper *by)
{
    run *const r = &s->run[run_of];
    int done = 0;
    for (;; done++) {
        const int64_t number = claim(r, job, another);
        if (number < 0) return done;
        do_piece(s, number, by);
        finish(r);
    }
}

static int do_others(slot *s, head h, int member, helper *by)
{
    int done = 0;
    for (int i = 1; i < h.members; i++)
        done += do_run(s, h.job, (member + i) % h.members, true, by);
    return done;
}

/* Does the rest of a job: the member's own run, then the ends of the others' runs. */
static int work(slot *s, head h, int member, helper *by)
{
    const int done = do_run(s, h.job, member, false, by);
    return done + do_others(s, h, member, by);
}

/* Works on the slot's job, if this helper is a member of it. */
static void help(slot *s, int number)
{
    const head h = head_of(s, memory_order_acquire);
    if (number >= h.round) return;
    const int member = (number - h.first + h.round) % h.round + 1;
    if (member >= h.members) return;
    wake_others(h, member);
    (void)work(s, h, member, &helper_of[number]);
}

static bool is_late(helper *h)
{
    return atomic_load_explicit(&h->standing, memory_order_acquire) == LATE;
}

static void rest(helper *h)
{
    const struct timespec while_resting = {0, kRestNs};
    if (h->moved) duo_processor_return(&h->from);
    atomic_store_explicit(&h->state, RESTING, memory_order_relaxed);
    (void)nanosleep(&while_resting, NULL);
    atomic_store_explicit(&h->standing, IN_TIME, memory_order_release);
}

/* Other threads want a helper's processor: it sleeps right after each job until until_ns. */
typedef struct crowd {
    int64_t until_ns, for_ns; /* for_ns: the length of that time */
} crowd;

/* A yield was late. If the last time was not long ago, this one is twice as long. */
static void meet_crowd(crowd *c, int64_t now)
{
    const bool again = now - c->until_ns < kLongCrowdNs;
    if (!again) c->for_ns = kShortCrowdNs / 2;
    if (c->for_ns < kLongCrowdNs) c->for_ns *= 2;
    c->until_ns = now + c->for_ns;
}

/* The processors of callers and of other awake helpers. *shared: is one of them the helper's, too,
 * and is it to leave? Of two helpers the later one leaves. */
static cpu_set_t taken_by_others(int number, int here, bool *shared)
{
    cpu_set_t taken;
    CPU_ZERO(&taken);
    *shared = false;
    for (int i = 0; i < SLOTS; i++) {
        const int at = atomic_load_explicit(&slots[i].at, memory_order_relaxed);
        if (at == here) *shared = true;
        if (at != NOWHERE) CPU_SET(at, &taken);
    }
    for (int i = 0; i < duo_team_helpers(); i++) {
        const int at = atomic_load_explicit(&helper_of[i].at, memory_order_relaxed);
        if (i < number && at == here) *shared = true;
        if (i != number && at != NOWHERE) CPU_SET(at, &taken);
    }
    return taken;
}

/* Says where an awake helper is, and leaves a processor that it shares. */
static void stand_apart(int number, int64_t now)
{
    helper *const self = &helper_of[number];
    const int here = sched_getcpu();
    int standing = IN_TIME;
    bool shared;
    if (here < 0) return;
    if (atomic_load_explicit(&self->at, memory_order_relaxed) != here)
        atomic_store_explicit(&self->at, here, memory_order_relaxed);
    if (now < self->apart_ns) return;
    const cpu_set_t taken = taken_by_others(number, here, &shared);
    if (!shared || !atomic_compare_exchange_strong(&self->standing, &standing, MOVING)) return;
    duo_processor_leave(&taken);
    atomic_store_explicit(&self->standing, IN_TIME, memory_order_release);
    atomic_store_explicit(&self->at, sched_getcpu(), memory_order_relaxed);
    self->apart_ns = now + kApartNs;
}

/* Looks at the bell for a while, yielding between looks; not while there is a crowd. True: there
 * may be work, or it is time to rest. False: it is time to sleep. */
static bool rings(int number, unsigned heard, crowd *c)
{
    helper *const self = &helper_of[number];
    const int64_t since = now_ns(), until = since + (duo_machine_waits_asleep() ? 0 : kAwakeNs);
    while (since >= c->until_ns) {
        for (int i = 0; i < SPINS; i++) {
            if (atomic_load_explicit(&bell, memory_order_relaxed) != heard) return true;
            if (atomic_load_explicit(&dismissed, memory_order_relaxed)) return is_late(self);
            relax();
        }
        const int64_t before = now_ns();
        (void)sched_yield();
        const int64_t after = now_ns();
        if (after - before > kLateNs) meet_crowd(c, after);
        if (is_late(self)) return true;
        stand_apart(number, after);
        if (after > until) break;
    }
    return false;
}

static void sleep_until_woken(helper *self, unsigned heard)
{
    atomic_uint *const state = &self->state;
    atomic_store_explicit(&self->at, NOWHERE, memory_order_relaxed);
    atomic_store_explicit(state, ASLEEP, memory_order_seq_cst);
    while (atomic_load_explicit(&bell, memory_order_seq_cst) == heard &&
           atomic_load_explicit(state, memory_order_seq_cst) == ASLEEP)
        (void)syscall(SYS_futex, state, FUTEX_WAIT_PRIVATE, ASLEEP, NULL, NULL, 0);
    atomic_store_explicit(state, AWAKE, memory_order_relaxed);
}

static void *helper_body(void *argument)
{
    const int number = (int)(intptr_t)argument;
    helper *const self = &helper_of[number];
    crowd met = {.until_ns = INT64_MIN / 2};
    if (self->bound) duo_processor_return(&self->places);
    duo_processor_take_short_turns();
    atomic_store_explicit(&self->thread, (int)gettid(), memory_order_relaxed);
    for (;;) {
        const unsigned heard = atomic_load_explicit(&bell, memory_order_acquire);
        if (is_late(self)) rest(self);
        for (int i = 0; i < SLOTS; i++) help(&slots[i], number);
        if (!is_late(self) && !rings(number, heard, &met)) sleep_until_woken(self, heard);
    }
    return NULL;
}

static bool make_helper(int number)
{
    helper_of[number].bound = duo_openmp_binds(&helper_of[number].places);
    return duo_thread_make(helper_body, (void *)(intptr_t)number);
}

/* Makes helpers until there are `wanted`, or the system gives no more. Returns how many there
 * are. */
static int make_helpers(int wanted)
{
    int count = atomic_load_explicit(&helpers, memory_order_relaxed);
    if (count >= wanted) return count;
    duo_lock(DUO_LOCK_TEAM);
    count = atomic_load_explicit(&helpers, memory_order_relaxed);
    if (count < wanted && (refused_ns == 0 || now_ns() - refused_ns > kRetryNs)) {
        while (count < wanted && make_helper(count)) count++;
        refused_ns = count < wanted ? now_ns() : 0;
        atomic_store_explicit(&helpers, count, memory_order_relaxed);
    }
    duo_unlock(DUO_LOCK_TEAM);
    return count;
}

int duo_team_helpers(void) { return atomic_load_explicit(&helpers, memory_order_relaxed); }

/* ---- Jobs ---- */

/* Takes a free slot; NULL: there is none. *first: the first helper of the new job, after the
 * helpers of the jobs in earlier slots. */
static slot *take_slot(int round, int *first)
{
    *first = 0;
    for (int i = 0; i < SLOTS; i++) {
        bool taken = false;
        if (!atomic_load_explicit(&slots[i].taken, memory_order_relaxed) &&
            atomic_compare_exchange_strong_explicit(&slots[i].taken, &taken, true,
                                                    memory_order_acquire, memory_order_relaxed)) {
            *first %= round;
            return &slots[i];
        }
        const int members = head_of(&slots[i], memory_order_relaxed).members;
        if (members > 0) *first += members - 1;
    }
    return NULL;
}

/* Cuts a new job's runs and gives it a number. */
static void cut(slot *s, head *h, int64_t pieces)
{
    h->job = (head_of(s, memory_order_relaxed).job + 1) & 0xFFFF;
    for (int64_t i = 0; i < h->members; i++)
        atomic_store_explicit(
            &s->run[i].word,
            run_word(h->job, pieces * i / h->members, pieces * (i + 1) / h->members),
            memory_order_release);
}

/* Shows a job to the helpers, and wakes some. */
static void post(slot *s, head h)
{
    atomic_store_explicit(&s->head, head_word(h), memory_order_release);
    if (atomic_load_explicit(&dismissed, memory_order_relaxed))
        atomic_store_explicit(&dismissed, false, memory_order_relaxed);
    (void)atomic_fetch_add_explicit(&bell, 1, memory_order_seq_cst);
    wake_others(h, 0);
}

/*
 * A helper that keeps its caller waiting has lost its processor, in the middle of a piece, to
 * another thread, perhaps for milliseconds. It is moved to the caller's processor, and the caller
 * sleeps for a moment.
 */
static void fetch(helper *h)
{
    int standing = IN_TIME;
    if (!atomic_compare_exchange_strong(&h->standing, &standing, MOVING)) return;
    h->moved =
        duo_processor_fetch(atomic_load_explicit(&h->thread, memory_order_relaxed), &h->from);
    atomic_store_explicit(&h->standing, LATE, memory_order_release);
}

static void fetch_late(const slot *s)
{
    for (int i = 0; i < duo_team_helpers(); i++)
        if (atomic_load_explicit(&helper_of[i].in, memory_order_relaxed) == s) fetch(&helper_of[i]);
}

/* Waits for the pieces that helpers have begun: looks for a moment, then yields its processor, then
 * fetches helpers that take much longer than piece_ns, the time of one of its own pieces. */
static void await(slot *s, head h, int64_t piece_ns)
{
    const struct timespec a_moment = {0, 1};
    int64_t since = 0;
    for (int i = 0; i < h.members; i++)
        for (int spins = 0; under_way(&s->run[i]); spins++) {
            if (spins < SPINS) {
                relax();
                continue;
            }
            const int64_t now = now_ns();
            if (since == 0) since = now;
            if (now - since > kLateNs + 2 * piece_ns) {
                fetch_late(s);
                (void)nanosleep(&a_moment, NULL);
            } else if (now - since > kPoliteNs) {
                (void)sched_yield(); /* the helper may be waiting for this processor */
            }
        }
}

static void run_alone(duo_team_piece piece, void *job, int64_t first, int64_t pieces)
{
    for (int64_t i = 0; i < pieces; i++) piece(job, first + i);
}

typedef struct region {
    slot *s;
    head h;
} region;

/* All threads of a region come, and its end waits for them. So a run is left to its own member,
 * unless the runs are long. */
static int64_t work_in_region(void *job, int number)
{
    const region *const r = job;
    if (number >= r->h.members || (number > 0 && duo_stack_is_small())) return 0;
    const int64_t began = now_ns();
    const float_mode before = float_mode_save();
    helper *const by = number > 0 ? &by_openmp : NULL;
    int done = do_run(r->s, r->h.job, number, false, by);
    int64_t took = now_ns() - began;
    if (took > kLongRunNs) {
        done += do_others(r->s, r->h, number, by);
        took = now_ns() - began;
    }
    if (number > 0) float_mode_restore(before);
    return 2 * took / (done + 1);
}

static void run_some(duo_team_piece piece, void *job, int64_t first, int64_t pieces, int members)
{
    const bool in_region = duo_openmp_threads_wait(members);
    head h = {.members = members, .round = in_region ? members - 1 : make_helpers(members - 1)};
    if (h.members > h.round + 1) h.members = h.round + 1;
    slot *const s = h.members > 1 ? take_slot(h.round, &h.first) : NULL;
    if (s == NULL) {
        run_alone(piece, job, first, pieces);
        return;
    }
    s->piece = piece;
    s->job = job;
    s->first = first;
    s->mode = float_mode_now();
    cut(s, &h, pieces);
    if (in_region) {
        atomic_store_explicit(&dismissed, true, memory_order_relaxed);
        duo_openmp_threads_run(work_in_region, &(region){s, h});
    } else {
        atomic_store_explicit(&s->at, sched_getcpu(), memory_order_relaxed);
        post(s, h);
        const int64_t began = now_ns();
        const int done = work(s, h, 0, NULL);
        await(s, h, (now_ns() - began) / (done + 1));
    }
    h.members = 0;
    atomic_store_explicit(&s->head, head_word(h), memory_order_relaxed);
    atomic_store_explicit(&s->taken, false, memory_order_release);
}

void duo_team_run(duo_team_piece piece, void *job, int64_t pieces, int threads)
{
    for (int64_t first = 0; first < pieces; first += MOST_PIECES) {
        const int64_t some = pieces - first < MOST_PIECES ? pieces - first : MOST_PIECES;
        int members = threads < DUO_TEAM_MOST ? threads : DUO_TEAM_MOST;
        if (members > some) members = (int)some;
        if (members > 1)
            run_some(piece, job, first, some, members);
        else
            run_alone(piece, job, first, some);
    }
}

static void nothing(void *job, int64_t piece)
{
    (void)job;
    (void)piece;
}

void duo_team_warm_up(int threads) { duo_team_run(nothing, NULL, threads, threads); }

static void in_child(void)
{
    atomic_store_explicit(&helpers, 0, memory_order_relaxed);
    refused_ns = 0;
    for (int i = 0; i < DUO_TEAM_MOST; i++) {
        atomic_store_explicit(&helper_of[i].state, AWAKE, memory_order_relaxed);
        atomic_store_explicit(&helper_of[i].standing, IN_TIME, memory_order_relaxed);
        atomic_store_explicit(&helper_of[i].in, NULL, memory_order_relaxed);
        atomic_store_explicit(&helper_of[i].at, NOWHERE, memory_order_relaxed);
    }
    for (int i = 0; i < SLOTS; i++) {
        atomic_store_explicit(&slots[i].at, NOWHERE, memory_order_relaxed);
        atomic_store_explicit(&slots[i].head, 0, memory_order_relaxed);
        atomic_store_explicit(&slots[i].taken, false, memory_order_relaxed);
        for (int j = 0; j < DUO_TEAM_MOST; j++)
            atomic_store_explicit(&slots[i].run[j].word, 0, memory_order_relaxed);
    }
}

static __attribute__((constructor)) void watch_forks(void)
{
    static duo_fork_handler handler = {.run = in_child};
    duo_fork_in_child(&handler);
}
