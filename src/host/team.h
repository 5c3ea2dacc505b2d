/*
 * team.h - the threads of the library: the one place where they are made and given work.
 *
 * Whoever has work for several threads cuts it into pieces and calls duo_team_run. The caller works
 * itself and never waits for a thread that has not begun: what helpers do not begin in time it
 * does, and at the end only pieces that others have begun are awaited. So pieces are to be short
 * beside the milliseconds for which a scheduler may take the processor away. (A piece that has
 * begun is awaited also where it could be done again without harm: a late helper would read memory
 * that the caller of the operation has taken back by then.)
 */
#ifndef DUO_TEAM_H
#define DUO_TEAM_H

#include <stdint.h>

/* Most threads of a call, the caller among them. */
enum { DUO_TEAM_MOST = 256 };

/* Does piece number `piece` of the job. Any thread, any order, several at a time; in the caller's
 * floating-point mode. */
typedef void (*duo_team_piece)(void *job, int64_t piece);

/* Does all pieces, on at most `threads` threads with this one; returns when they are done. */
void duo_team_run(duo_team_piece piece, void *job, int64_t pieces, int threads);

/* Makes the helpers that a call with so many threads uses, and wakes them. */
void duo_team_warm_up(int threads);

/* How many helpers there are. */
int duo_team_helpers(void);

#endif
