/*
 * team.c - one team of threads for the whole process (team.h).
 *
 * Jobs A call posts its job in a slot. Several calls at once have a slot each; where all slots are
 *          taken a call works alone, as many threads are at work then.
 * Runs The pieces are cut into as many runs of neighbours as the job has members. A member takes
 *          the pieces of its own run from the front, so that a repeated call finds its data in the
 *          caches that it left them in; who is done takes pieces from the ends of the others' runs.
 * Claims A run is one word: pieces left, pieces begun and not done, and the job's number, so that a
 *          piece is claimed by one compare-and-swap and late helpers can tell that they are. Piece
 *          function and job are read between a claim and its end alone: the caller waits for that
 *          end.
 * Helpers Threads of POSIX, not a team of OpenMP: there a barrier waits for all its members,
 *          surplus threads are ended and made again as teams change in size, and a thread that
 *          cannot be made ends the process. A helper that has nothing to do stays awake for a
 *          moment, because to be woken takes 50 us, but yields the processor again and again. A
 *          yield that comes back late shows that others want it: then the helper sleeps, and for a
 *          while stays awake no more: in a queue for the processor it is of no use, and who is
 *          woken may go first, if it asks for short turns. One that has the caller wait for its
 *          piece for long, because it has lost its processor, is fetched to the caller's, and then
 *          rests for a while. The caller wakes a few helpers, and each of these a few more.
 */
#define _GNU_SOURCE
#include "host/team.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
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
#include "host/processor.h"

enum {
    SLOTS = 8,
    LINE = 128,           /* two cache lines: processors fetch neighbours in pairs */
    WAKES = 4,            /* helpers that each who is awake wakes */
    SPINS = 64,           /* looks at the bell between two yields */
    STACK_BYTES = 2 << 20 /* of a helper */
};
static const int64_t kAwakeNs = 2000000;      /* a helper looks for work so long before it sleeps */
static const int64_t kLateNs = 200000;        /* a yield or a wait takes longer: it is crowded */
static const int64_t kShortCrowdNs = 4000000; /* after a late yield a helper does not stay awake, */
static const int64_t kLongCrowdNs = 128000000; /* and longer each time that it is late again soon */
static const int64_t kPoliteNs = 20000;        /* a caller who waits longer yields */
static const int64_t kRestNs = 20000000;       /* a helper that had a caller wait rests so long */
static const int64_t kRetryNs = 1000000000;    /* threads could not be made: no new try before */

/* ---- A run: pieces [next, end) are left, `begun` are under way, all of job number `job` ---- */

enum { COUNT_BITS = 18, BEGUN_BITS = 12, NEXT_AT = 0, END_AT = 18, BEGUN_AT = 36, JOB_AT = 48 };
enum { MOST_PIECES = (1 << COUNT_BITS) - 1 }; /* of a job */

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

/* Claims the first piece that is left, or the last; -1: none of this job is left. */
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
    /* The job in words of 16 bits: its number, members, the first helper, helpers to count round
     * by. No members: there is none. */
    _Alignas(LINE) _Atomic uint64_t head;
    /* Read by those alone who have claimed a piece. */
    duo_team_piece piece;
    void *job;
    int64_t first; /* number of run[0]'s first piece */
    float_mode mode;
    run run[DUO_TEAM_MOST]; /* of the caller, then of the helpers */
} slot;

typedef struct head {
    uint64_t job;
    int members, first, round;
} head;

static slot slots[SLOTS];

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

/* FETCHED: a caller who waited for long is at it; then the helper is LATE, until it has rested. */
enum { IN_TIME, FETCHED, LATE };

typedef struct helper {
    _Alignas(LINE) atomic_uint state; /* a futex */
    atomic_int standing;
    atomic_int thread;        /* the system's number of it */
    _Atomic(const slot *) in; /* whose piece it does; NULL: none */
    bool moved;               /* to the caller's processor, from these */
    cpu_set_t from;
} helper;

static helper helper_of[DUO_TEAM_MOST];
static atomic_int helpers;
static _Alignas(LINE) atomic_uint bell; /* counts the jobs that were posted */
static int64_t refused_ns;              /* when a thread could not be made; DUO_LOCK_TEAM */

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

/* Member number `member` of a job wakes some of the next: 0 wakes 1 to 4, 1 wakes 5 to 8, ... */
static void wake_others(head h, int member)
{
    for (int i = 1; i <= WAKES; i++) {
        const int other = WAKES * member + i;
        if (other < h.members) wake((h.first + other - 1) % h.round);
    }
}

/* A piece that was claimed; by a helper (NULL: the caller) in the caller's mode. */
static void do_piece(const slot *s, int64_t number, helper *by)
{
    if (by != NULL) {
        atomic_store_explicit(&by->in, s, memory_order_relaxed);
        float_mode_adopt(s->mode);
    }
    s->piece(s->job, s->first + number);
    if (by != NULL) atomic_store_explicit(&by->in, NULL, memory_order_relaxed);
}

/* Does what is left of a job: the member's own run, then the ends of the others'. Returns how many
 * pieces that were. */
static int work(slot *s, head h, int member, helper *by)
{
    int done = 0;
    for (int i = 0; i < h.members; i++) {
        run *const r = &s->run[(member + i) % h.members];
        for (;;) {
            const int64_t number = claim(r, h.job, i > 0);
            if (number < 0) break;
            do_piece(s, number, by);
            finish(r);
            done++;
        }
    }
    return done;
}

/* Is there anything for this helper in the slot? */
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

/* Until when a helper does not stay awake, and for how long that is. */
typedef struct crowd {
    int64_t until_ns, for_ns;
} crowd;

/* A yield was late: for longer than the last time, if that was not long ago. */
static void meet_crowd(crowd *c, int64_t now)
{
    const bool again = now - c->until_ns < kLongCrowdNs;
    if (!again) c->for_ns = kShortCrowdNs / 2;
    if (c->for_ns < kLongCrowdNs) c->for_ns *= 2;
    c->until_ns = now + c->for_ns;
}

/* Looks at the bell for a while, politely, where there is no crowd; false: it is time to sleep. */
static bool rings(helper *self, unsigned heard, crowd *c)
{
    const int64_t since = now_ns(), until = since + kAwakeNs;
    while (since >= c->until_ns) {
        for (int i = 0; i < SPINS; i++) {
            if (atomic_load_explicit(&bell, memory_order_relaxed) != heard) return true;
            relax();
        }
        const int64_t before = now_ns();
        (void)sched_yield();
        const int64_t after = now_ns();
        if (after - before > kLateNs) meet_crowd(c, after);
        if (is_late(self)) return true; /* to rest first */
        if (after > until) break;
    }
    return false;
}

static void sleep_until_woken(atomic_uint *state, unsigned heard)
{
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
    duo_machine_unbind();
    duo_processor_take_short_turns();
    atomic_store_explicit(&self->thread, (int)gettid(), memory_order_relaxed);
    for (;;) {
        const unsigned heard = atomic_load_explicit(&bell, memory_order_acquire);
        if (is_late(self)) rest(self);
        for (int i = 0; i < SLOTS; i++) help(&slots[i], number);
        if (!is_late(self) && !rings(self, heard, &met)) sleep_until_woken(&self->state, heard);
    }
    return NULL;
}

/* One more helper; false where the system gives no thread. Signals are the program's, not its. */
static bool make_helper(int number)
{
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    if (pthread_attr_init(&attributes) != 0) return false;
    (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool made =
        pthread_create(&thread, &attributes, helper_body, (void *)(intptr_t)number) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    if (made) (void)pthread_setname_np(thread, "duoblas");
    return made;
}

/* Makes helpers up to this number, or as many as there can be; returns how many there are. */
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

/* A free slot, or NULL; *first: a helper from which on they are not in use by the slots before
 * it. */
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

/* Everything of the job is left, and `members` may have it. */
static head post(slot *s, head h, int64_t pieces)
{
    h.job = (head_of(s, memory_order_relaxed).job + 1) & 0xFFFF;
    for (int i = 0; i < h.members; i++)
        atomic_store_explicit(&s->run[i].word,
                              run_word(h.job, pieces * i / h.members, pieces * (i + 1) / h.members),
                              memory_order_release);
    atomic_store_explicit(&s->head, head_word(h), memory_order_release);
    (void)atomic_fetch_add_explicit(&bell, 1, memory_order_seq_cst);
    wake_others(h, 0);
    return h;
}

/*
 * A helper that has had its caller wait for long has lost its processor in the middle of a piece,
 * to somebody whose turn may take milliseconds. The caller's own is at hand: it goes there, and the
 * caller sleeps a moment.
 */
static void fetch(helper *h)
{
    int standing = IN_TIME;
    if (!atomic_compare_exchange_strong(&h->standing, &standing, FETCHED)) return;
    h->moved =
        duo_processor_fetch(atomic_load_explicit(&h->thread, memory_order_relaxed), &h->from);
    atomic_store_explicit(&h->standing, LATE, memory_order_release);
}

static void fetch_late(const slot *s)
{
    for (int i = 0; i < duo_team_helpers(); i++)
        if (atomic_load_explicit(&helper_of[i].in, memory_order_relaxed) == s) fetch(&helper_of[i]);
}

/* Waits for the pieces that others have begun, at last without a processor of its own. One that
 * takes much longer than `piece_ns` is late. */
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
                (void)sched_yield(); /* it may be here that it has to run */
            }
        }
}

static void run_alone(duo_team_piece piece, void *job, int64_t first, int64_t pieces)
{
    for (int64_t i = 0; i < pieces; i++) piece(job, first + i);
}

static void run_some(duo_team_piece piece, void *job, int64_t first, int64_t pieces, int members)
{
    head h = {.members = members, .round = make_helpers(members - 1)};
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
    h = post(s, h, pieces);
    const int64_t began = now_ns();
    const int done = work(s, h, 0, NULL);
    await(s, h, (now_ns() - began) / (done + 1));
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
    }
    for (int i = 0; i < SLOTS; i++) {
        atomic_store_explicit(&slots[i].head, 0, memory_order_relaxed);
        atomic_store_explicit(&slots[i].taken, false, memory_order_relaxed);
        for (int j = 0; j < DUO_TEAM_MOST; j++)
            atomic_store_explicit(&slots[i].run[j].word, 0, memory_order_relaxed);
    }
}

static __attribute__((constructor)) void watch_forks(void) { duo_fork_in_child(in_child); }
