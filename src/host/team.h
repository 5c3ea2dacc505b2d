/*
 * team.h - the threads of the library: the one place where they are given work.
 *
 * Work for several threads is cut into pieces and given to duo_team_run. The caller works, too, and
 * never waits for a helper that has not begun: it does the pieces that no helper begins in time,
 * and at the end waits only for pieces that helpers have begun. So a piece should be short compared
 * to the milliseconds for which a scheduler may take a helper's processor away. (Pieces that could
 * be done twice without harm are awaited, too: a late helper would read memory that the user has
 * freed by then.)
 */
#ifndef DUO_TEAM_H
#define DUO_TEAM_H

#include <stdint.h>

#include "host/thread.h"

/* Most threads of a job, the caller included. */
enum { DUO_TEAM_MOST = DUO_THREADS_MOST };

/* Does one piece of a job, by its number. Called on any thread, in any order, several at a time,
 * and in the floating-point mode of duo_team_run's caller. */
typedef void (*duo_team_piece)(void *job, int64_t piece);

/* Does pieces 0 to pieces - 1 on at most `threads` threads, the calling one included. Returns when
 * all are done. */
void duo_team_run(duo_team_piece piece, void *job, int64_t pieces, int threads);

/* Makes the helpers that a call with `threads` threads uses, and wakes them. */
void duo_team_warm_up(int threads);

/* How many helpers there are. */
int duo_team_helpers(void);

#endif
