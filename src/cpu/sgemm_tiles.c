/* sgemm_tiles.c - tiles of C for a shape (sgemm_tiles.h). */
#include "cpu/sgemm_tiles.h"

#include <math.h>
#include <stdbool.h>

enum {
    PIECE_WORK = DUO_SGEMM_PIECE_WORK,
    PIECES = DUO_SGEMM_PIECES,
    LARGEST_EDGE = DUO_SGEMM_LARGEST_EDGE,
    SMALLEST_EDGE = DUO_SGEMM_SMALLEST_EDGE,
    ROWS_UNIT = 16, /* tiles are multiples of 16 x 4, the tile of OpenBLAS's kernels */
    COLUMNS_UNIT = 4,
    SMALLEST_STEPS = 1024, /* of a part of k; measured like the pieces (sgemm_tiles.h) */
    FEW_PIECES = 4,        /* that may all run at the same time */
    WIDE = 48,             /* columns of a tile: narrower ones are slower */
    MANY = 16,             /* threads for which flat tiles should suffice */
    FLAT = 16,             /* most steps of k of a flat product */
    FEW_THREADS = 4        /* with more threads tiles are not joined */
};

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* Most sizes fit in 32 bits, which processors divide in a fraction of the time of 64. */
static int64_t quotient(int64_t a, int64_t b)
{
    return (((uint64_t)a | (uint64_t)b) >> 32) == 0 ? (int64_t)((uint32_t)a / (uint32_t)b) : a / b;
}

static int64_t ceiling(int64_t a, int64_t b) { return quotient(a - 1, b) + 1; }

/* The length of a part if `size` is cut into `parts`: a multiple of `unit`. */
static int64_t part(int64_t size, int64_t parts, int64_t unit)
{
    return ceiling(ceiling(size, parts), unit) * unit;
}

/* How many pieces the work is worth. In floating point, since the work may exceed 64 bits. */
static int64_t pieces_of(int64_t m, int64_t n, int64_t k)
{
    const double pieces = (double)m * (double)n * (double)k / PIECE_WORK;
    return pieces < 1.0 ? 1 : pieces > PIECES ? PIECES : (int64_t)pieces;
}

typedef struct sizes {
    int64_t m, n, k; /* k >= 1 */
} sizes;

/* About `pieces`, but so that two and four threads share them evenly. Else a thread that is done
 * takes a piece of another's, with lines of C that are in the other's cache: these would go back
 * and forth from call to call. */
static int64_t divisible(int64_t pieces) { return pieces < 4 ? smaller(pieces, 2) : pieces & ~3; }

/* C cut into tiles of rows x columns, `down` of them below each other. */
typedef struct cut {
    int64_t down, rows, columns;
    double cost; /* of a tile: see cut_into */
} cut;

/*
 * Tiles below each other have cache lines of C in common, and processors fetch more of a column
 * than they need. Threads that update two of these tiles at the same time contend for the lines.
 * Per column this costs as much as packing kSharedLine elements of A or B. With more than a few
 * pieces a thread owns several tiles below each other, so it rarely happens.
 */
static const double kSharedLine = 24.0;

/* In each step of k a tile packs its edges; lines that it shares count once for all steps. All that
 * grows in proportion if there are fewer pieces than wanted. */
static cut cut_into(const sizes *size, int64_t pieces, int64_t down)
{
    const int64_t m = size->m, n = size->n;
    const int64_t rows = smaller(m, part(m, down, ROWS_UNIT));
    const int64_t columns = smaller(n, part(n, quotient(pieces, down), COLUMNS_UNIT));
    const double there = (double)ceiling(m, rows) * (double)ceiling(n, columns);
    const double times = there < (double)pieces ? (double)pieces / there : 1.0;
    const double shared = rows < m && pieces <= FEW_PIECES && n >= WIDE
                              ? kSharedLine * (double)columns / (double)size->k
                              : 0.0;
    return (cut){down, rows, columns, ((double)(rows + columns) + shared) * times};
}

/* A lower bound of the cost of a cut. It grows from the squarest cut on, to both sides. */
static double least_cost(const sizes *size, int64_t pieces, int64_t down)
{
    return (double)size->m / (double)down + (double)size->n * (double)down / (double)pieces;
}

/* Tries cuts from `down` on, in one direction, as long as one may be better than *best. Among equal
 * cuts it takes the one with the fewest tiles down. */
static void search(const sizes *size, int64_t pieces, int64_t down, int step, cut *best)
{
    for (; down >= 1 && down <= pieces; down += step) {
        if (least_cost(size, pieces, down) > best->cost * (1.0 + 1e-9)) return;
        const cut c = cut_into(size, pieces, down);
        const bool better = c.cost < best->cost || (c.cost == best->cost && c.down < best->down);
        if (better) *best = c;
    }
}

/* The cheapest tiles, about `pieces` of them. */
static duo_tiles cheapest(int64_t m, int64_t n, int64_t k, int64_t pieces)
{
    const sizes size = {m, n, k};
    const double square = sqrt((double)pieces * (double)m / (double)n);
    const int64_t middle = square < 1.0 ? 1 : square > (double)pieces ? pieces : (int64_t)square;
    cut best = cut_into(&size, pieces, middle);
    search(&size, pieces, middle + 1, 1, &best);
    search(&size, pieces, middle - 1, -1, &best);
    return (duo_tiles){.rows = best.rows, .columns = best.columns};
}

duo_tiles duo_sgemm_one_tile(int64_t m, int64_t n, int64_t k)
{
    return (duo_tiles){m, n, k, 1, 1, 1};
}

/* From this many multiplications of a tile on, OpenBLAS surely packs its operands: it has other
 * kernels for up to 10^6. */
static const double kPackedWork = 1 << 20;

/* Cost of packing an element of A or B, in multiplications: on one thread of a Zen 4, 48 tiles of
 * 1024^3 take 12 % longer than one. */
static const double kPackCost = 9.0;

/* Multiplications of the last tile, which is the smallest one. */
static double least_work(const duo_tiles *t, int64_t m, int64_t n, int64_t k)
{
    const int64_t rows = m - (t->down - 1) * t->rows, columns = n - (t->across - 1) * t->columns;
    return (double)rows * (double)columns * (double)k;
}

/* Multiplying and packing of the busiest thread in one step of k, in multiplications. */
static double longest_share(const duo_tiles *t, int threads)
{
    const double pieces = (double)ceiling(t->down * t->across, threads);
    const double rows = (double)t->rows, columns = (double)t->columns;
    return pieces * (rows * columns + kPackCost * (rows + columns));
}

duo_tiles duo_sgemm_larger_tiles(duo_tiles t, int64_t m, int64_t n, int64_t k, int threads)
{
    if (threads > FEW_THREADS || t.parts > 1) return t;
    if (least_work(&t, m, n, k) < kPackedWork) return t;
    const int64_t wanted = threads > 1 ? 2 * threads : 1; /* so that late helpers find tiles left */
    duo_tiles best = t;
    for (int64_t down = 1; down <= t.down; down++)
        for (int64_t across = 1; across <= t.across; across++) {
            duo_tiles larger = t;
            larger.rows = smaller(down * t.rows, m);
            larger.columns = smaller(across * t.columns, n);
            larger.down = ceiling(m, larger.rows);
            larger.across = ceiling(n, larger.columns);
            if (larger.down * larger.across < wanted) break;
            if (longest_share(&larger, threads) < longest_share(&best, threads)) best = larger;
        }
    return best;
}

/* Flat tiles beside each other: wide enough for OpenBLAS's kernels, and at least two. */
static int64_t strips_of(int64_t n, int64_t pieces)
{
    return divisible(smaller(pieces, n < 2 * WIDE ? 2 : quotient(n, WIDE)));
}

/*
 * A flat product multiplies little per element of C, so contending for lines would take longest:
 * 2929 x 201 x 1 on two threads of a Xeon takes 112 us in 2 x 2 tiles, and 31 us in 1 x 2. So C is
 * cut only across, unless that gives fewer than half of the pieces for up to MANY threads.
 */
static bool is_flat(int64_t n, int64_t k, int64_t pieces)
{
    return k <= FLAT && n >= WIDE && 2 * strips_of(n, pieces) >= divisible(smaller(pieces, MANY));
}

static duo_tiles flat_tiles(int64_t m, int64_t n, int64_t k, int64_t pieces)
{
    const int64_t columns = smaller(n, part(n, strips_of(n, pieces), COLUMNS_UNIT));
    return (duo_tiles){m, columns, k, 1, ceiling(n, columns), 1};
}

duo_tiles duo_sgemm_tiles(int64_t m, int64_t n, int64_t k)
{
    const int64_t worth = pieces_of(m, n, k);
    if (m <= LARGEST_EDGE && n <= LARGEST_EDGE && worth == 1) return duo_sgemm_one_tile(m, n, k);
    const int64_t pieces = worth <= FEW_PIECES ? divisible(worth) : worth;
    if (is_flat(n, k, pieces)) return flat_tiles(m, n, k, pieces);
    const int64_t room =
        smaller(ceiling(m, SMALLEST_EDGE), PIECES) * smaller(ceiling(n, SMALLEST_EDGE), PIECES);
    duo_tiles t = cheapest(m, n, k, smaller(pieces, room));
    t.rows = smaller(t.rows, LARGEST_EDGE);
    t.columns = smaller(t.columns, LARGEST_EDGE);
    t.down = ceiling(m, t.rows);
    t.across = ceiling(n, t.columns);
    const int64_t tiles = t.down * t.across,
                  wanted = smaller(quotient(pieces, tiles), k / SMALLEST_STEPS);
    t.steps = wanted > 1 ? ceiling(k, wanted) : k;
    t.parts = wanted > 1 ? ceiling(k, t.steps) : 1;
    return t;
}
