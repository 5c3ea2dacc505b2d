/* sgemm_tiles.c - tiles of C for a shape (sgemm_tiles.h). */
#include "cpu/sgemm_tiles.h"

#include <math.h>
#include <stdbool.h>

/*
 * Measured with OpenBLAS 0.3.21 and 0.3.26 on 16 threads of a Xeon with AVX-512. Every tile packs
 * its own parts of A and B: few and square tiles pack least, but more than threads leave nobody
 * waiting for the last. From 64^3 on pieces pay, of a microsecond or two (65536 multiplications).
 * Edges are whole tiles of OpenBLAS's kernels, 16 x 4.
 */
enum {
    PIECE_WORK = DUO_SGEMM_ONE_TILE / 2,
    PIECES = 48,
    LARGEST_EDGE = 512,
    ROWS_UNIT = 16,
    COLUMNS_UNIT = 4,
    SMALLEST_EDGE = 32, /* below, parts of k are better */
    SMALLEST_STEPS = 1024,
    FEW_THREADS = 4 /* for more the tiles are not put together */
};

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* Most sizes are short, for which processors divide in a fraction of the time. */
static int64_t quotient(int64_t a, int64_t b)
{
    return (((uint64_t)a | (uint64_t)b) >> 32) == 0 ? (int64_t)((uint32_t)a / (uint32_t)b) : a / b;
}

static int64_t ceiling(int64_t a, int64_t b) { return quotient(a - 1, b) + 1; }

/* size in so many parts of a multiple of the unit */
static int64_t part(int64_t size, int64_t parts, int64_t unit)
{
    return ceiling(ceiling(size, parts), unit) * unit;
}

/* How many pieces the work is worth; sizes may be any, so in floating point. */
static int64_t pieces_of(int64_t m, int64_t n, int64_t k)
{
    const double pieces = (double)m * (double)n * (double)k / PIECE_WORK;
    return pieces < 1.0 ? 1 : pieces > PIECES ? PIECES : (int64_t)pieces;
}

/* C in tiles, `down` of them below each other and about as many as `pieces` in all. */
typedef struct cut {
    int64_t down, rows, columns;
    double cost; /* packing, and the pieces that there are too few of */
} cut;

static cut cut_into(int64_t m, int64_t n, int64_t pieces, int64_t down)
{
    const int64_t rows = smaller(m, part(m, down, ROWS_UNIT));
    const int64_t columns = smaller(n, part(n, quotient(pieces, down), COLUMNS_UNIT));
    const double there = (double)ceiling(m, rows) * (double)ceiling(n, columns);
    const double times = there < (double)pieces ? (double)pieces / there : 1.0;
    return (cut){down, rows, columns, (double)(rows + columns) * times};
}

/* No tiles have shorter edges. Grows from the squarest on, to both sides. */
static double least_cost(int64_t m, int64_t n, int64_t pieces, int64_t down)
{
    return (double)m / (double)down + (double)n * (double)down / (double)pieces;
}

/* Tries those from `down` on, one way, as long as one may be better; of equal ones the fewest
 * down. */
static void search(int64_t m, int64_t n, int64_t pieces, int64_t down, int step, cut *best)
{
    for (; down >= 1 && down <= pieces; down += step) {
        if (least_cost(m, n, pieces, down) > best->cost * (1.0 + 1e-9)) return;
        const cut c = cut_into(m, n, pieces, down);
        const bool better = c.cost < best->cost || (c.cost == best->cost && c.down < best->down);
        if (better) *best = c;
    }
}

/* The tiles that pack least, of those that are about as many as `pieces`. */
static duo_tiles squarest(int64_t m, int64_t n, int64_t pieces)
{
    const double square = sqrt((double)pieces * (double)m / (double)n);
    const int64_t middle = square < 1.0 ? 1 : square > (double)pieces ? pieces : (int64_t)square;
    cut best = cut_into(m, n, pieces, middle);
    search(m, n, pieces, middle + 1, 1, &best);
    search(m, n, pieces, middle - 1, -1, &best);
    return (duo_tiles){.rows = best.rows, .columns = best.columns};
}

duo_tiles duo_sgemm_one_tile(int64_t m, int64_t n, int64_t k)
{
    return (duo_tiles){m, n, k, 1, 1, 1};
}

/* A tile that is not smaller has its operands packed; OpenBLAS has other kernels for up to 10^6. */
static const double kPackedWork = 1 << 20;

/* Of an element of A or B, in multiplications: 48 tiles of 1024^3 on one thread take 12 % longer
 * than one (Zen 4). */
static const double kPackCost = 9.0;

/* Of the last tile, the smallest one. */
static double least_work(const duo_tiles *t, int64_t m, int64_t n, int64_t k)
{
    const int64_t rows = m - (t->down - 1) * t->rows, columns = n - (t->across - 1) * t->columns;
    return (double)rows * (double)columns * (double)k;
}

/* In multiplications of one step of k: what the thread with most to do multiplies and packs. */
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
    const int64_t wanted = threads > 1 ? 2 * threads : 1; /* a helper that comes late finds some */
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

duo_tiles duo_sgemm_tiles(int64_t m, int64_t n, int64_t k)
{
    const int64_t pieces = pieces_of(m, n, k);
    if (pieces == 1 && m <= LARGEST_EDGE && n <= LARGEST_EDGE) return duo_sgemm_one_tile(m, n, k);
    const int64_t room =
        smaller(ceiling(m, SMALLEST_EDGE), PIECES) * smaller(ceiling(n, SMALLEST_EDGE), PIECES);
    duo_tiles t = squarest(m, n, smaller(pieces, room));
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
