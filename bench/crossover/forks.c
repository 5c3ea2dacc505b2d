/* forks.c - measures the cost of sharing work among threads, for the profile. */
#include <math.h>
#include <stdlib.h>

#include "bench/crossover/crossover.h"
#include "bench/measure/benchmark.h"
#include "host/team.h"

enum { MOST_TEAMS = 12, FORKS = 4096, LEAST_UNDISTURBED = 8, PASSES = 3 };

/* ---- Judging ---- */

static bool undisturbed(double overhead, double piece) { return overhead < 0.9 * piece; }

/*
 * With one piece for each thread a run should take as long as one piece; the rest is the cost. If a
 * thread had to wait for a processor, another thread did its piece as well, and the run took twice
 * as long. Neighbours caused that, so the run does not count.
 */
bool duo_fork_seconds(const double *overhead, int count, double piece, double *seconds)
{
    double kept[FORKS];
    int keep = 0;
    for (int i = 0; i < count && keep < FORKS; i++)
        if (undisturbed(overhead[i], piece)) kept[keep++] = overhead[i];
    if (keep < LEAST_UNDISTURBED) return false;
    *seconds = fmax(duo_low_quantile(kept, keep), 0.0);
    return true;
}

/* ---- Measuring ---- */

/* A piece is long enough for all threads to come before one has finished its piece. */
static double piece_of(int threads) { return 5e-6 + 0.5e-6 * (double)threads; }

static void take_a_while(void *job, int64_t piece)
{
    const double begin = duo_now_seconds(), seconds = *(const double *)job;
    (void)piece;
    while (duo_now_seconds() - begin < seconds) continue;
}

static bool fork_and_join(int threads, double most_seconds, double *seconds)
{
    double overhead[FORKS], piece = piece_of(threads);
    int count = 0;
    const double began = duo_now_seconds();
    while (count < FORKS && duo_now_seconds() - began < most_seconds) {
        const double begin = duo_now_seconds();
        duo_team_run(take_a_while, &piece, threads, threads);
        overhead[count++] = duo_now_seconds() - begin - piece;
    }
    return duo_fork_seconds(overhead, count, piece, seconds);
}

/* Teams of 2, 4, 8 ... and all threads; returns how many. */
static int list_teams(int threads, int team[MOST_TEAMS])
{
    int teams = 0;
    for (int t = 2; t < threads && teams < MOST_TEAMS - 1; t *= 2) team[teams++] = t;
    if (threads > 1) team[teams++] = threads;
    return teams;
}

/* Fits a + b*t to (t, seconds), with a and b at least 0. */
static void fit(const double *t, const double *seconds, int count, duo_profile *profile)
{
    double t1 = 0.0, t2 = 0.0, s1 = 0.0, ts = 0.0;
    for (int i = 0; i < count; i++) {
        t1 += t[i];
        t2 += t[i] * t[i];
        s1 += seconds[i];
        ts += t[i] * seconds[i];
    }
    const double spread = count * t2 - t1 * t1;
    const double slope = spread > 0.0 ? fmax((count * ts - t1 * s1) / spread, 0.0) : 0.0;
    profile->fork_seconds_per_thread = slope;
    profile->fork_seconds = fmax((s1 - slope * t1) / count, 0.0);
}

/* Takes the least of several passes, since neighbours only add time. Teams that were always
 * disturbed are left out. If all were, the profile keeps its figures. */
void duo_crossover_forks(const duo_crossover *x, duo_profile *profile)
{
    int team[MOST_TEAMS], known = 0;
    double threads[MOST_TEAMS], least[MOST_TEAMS];
    const int teams = list_teams(x->threads, team);
    for (int i = 0; i < teams; i++) least[i] = (double)INFINITY;
    for (int pass = 0; pass < PASSES; pass++)
        for (int i = 0; i < teams; i++) {
            double seconds;
            if (fork_and_join(team[i], x->quick ? 0.01 : 0.05, &seconds))
                least[i] = fmin(least[i], seconds);
        }
    for (int i = 0; i < teams; i++) {
        if (!isfinite(least[i])) continue;
        threads[known] = team[i];
        least[known++] = least[i];
    }
    if (known > 0) fit(threads, least, known, profile);
}
