/*
 * ffma_body.h - one clone of sgemm_cpu_ffma or sgemm_cpu_float64: the documented order (ffma.h) in
 * vectors. A *number* is what is summed and packed: a float, or a double. A, B and C are floats:
 * they are converted as they are loaded and stored.
 *
 * Included by ffma_<isa>.c and float64_<isa>.c, which define before that:
 *   CLONE                the name of the clone, as a token
 *   number               float or double
 *   FULL, HALF           rows in a vector, and in one for few rows: half of them, or as many
 *   COLUMNS              of the largest tile that is summed in registers; it has 2 FULL rows
 *   TALL                 1: there are 32 vector registers, so tall tiles are faster; or 0
 *   FUSES_ELEMENTS       1: `fused` takes an element in memory for all lanes; or 0
 *   BLOCK_ROWS           of A that are packed at once
 *   UNPACKED_ROWS        of C: with no more of them, a B that is not transposed is not packed
 *   UNPACKED_A, UNPACKED_B  the largest blocks of A and B, in elements, that are read where they
 *                        are: beyond, packing pays
 *   PANEL_BYTES          of packed B
 *   blend(alpha, sum, c) alpha sum + c, as the order ends
 * and for W = FULL and HALF:
 *   vecW, maskW          W numbers; a mask for the first of them
 *   someW(count)         the mask for the first `count` numbers; all if count >= W
 *   zeroW, splatW, plusW, timesW
 *   loadW, load_someW, storeW, store_someW   from and to floats
 *   load_numberW, store_numberW
 *   fusedW(x, y, z)      x y + z for floats x and y, rounded once
 *   blendW(alpha, sum, c)   as blend
 *   seenW                is there a NaN in any of some vectors?
 *   unseenW()            no vector so far
 *   lookW(seen, x, y)    and in vectors x and y?
 *   has_nanW(seen)       the answer
 * and:
 *   columns_4(x, p, ld)  x[z] := the FULL floats p[z], p[z + ld], p[z + 2 ld] and so on, for z < 4
 *   columns_all          the same for z < FULL
 *   transpose_4(to, step, p, ld)  to[z step + i] := p[z + i ld] for z, i < 4
 *   vec8, zero8, load8, load_number8, store_number8, fused8   a vector of DUO_CHAINS numbers, if
 *                        FULL and HALF are not 8
 *   add_chains8(v)       the sum of a vec8, by halves; defined as a macro, too. It may be missing
 *   first8(p, count)     the first `count` floats, and zeros
 *   filled8(p, count)    the same, but in float32 with -0: a product with first8's zeros is -0
 *                        then, and changes no sum. (In float64 no sum of products is -0.)
 *
 * Masks    A mask in a loop costs arithmetic. So loops are compiled twice, for whole vectors and
 *          for the last one (`whole`).
 * Paths    All give the same bits, as only the order of k matters. Small and tall products read A
 *          and B where they are. Few steps keep columns of B in registers (`outer`). With few
 *          columns or few rows, the large operand is read once, in ascending order (`few`). All
 *          others are cut into blocks that fit the caches, and packed where that pays.
 * NaN      NaNs are rare: vectors are only looked at, two by one comparison. If there is a NaN in a
 *          part of C that has just been written, that part is mended.
 */
#include <stddef.h>
#include <string.h>

#include "cpu/ffma.h"
#include "host/scratch.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)

#define vec          JOIN(vec, WIDTH)
#define mask         JOIN(mask, WIDTH)
#define some         JOIN(some, WIDTH)
#define zero         JOIN(zero, WIDTH)
#define load         JOIN(load, WIDTH)
#define load_some    JOIN(load_some, WIDTH)
#define store        JOIN(store, WIDTH)
#define store_some   JOIN(store_some, WIDTH)
#define load_rows    JOIN(load_rows, WIDTH)
#define take_rows    JOIN(take_rows, WIDTH)
#define add_step     JOIN(add_step, WIDTH)
#define add_steps    JOIN(add_steps, WIDTH)
#define store_rows   JOIN(store_rows, WIDTH)
#define end_vector   JOIN(end_vector, WIDTH)
#define load_number  JOIN(load_number, WIDTH)
#define store_number JOIN(store_number, WIDTH)
#define splat        JOIN(splat, WIDTH)
#define fused        JOIN(fused, WIDTH)
#define plus         JOIN(plus, WIDTH)
#define times        JOIN(times, WIDTH)
#define blend_vector JOIN(blend, WIDTH)
#define seen         JOIN(seen, WIDTH)
#define unseen       JOIN(unseen, WIDTH)
#define look         JOIN(look, WIDTH)
#define has_nan      JOIN(has_nan, WIDTH)

/* For functions with arrays: each has a frame of its own, and none the sum of several. */
#define NOINLINE static __attribute__((noinline))
#if defined(__clang__)
#define UNROLLED _Pragma("clang loop unroll(full)")
#define BY_FOUR  _Pragma("clang loop unroll_count(4)")
#else
#define UNROLLED _Pragma("GCC unroll 32")
#define BY_FOUR  _Pragma("GCC unroll 4")
#endif

/* Else compilers keep an address for each of the elements behind the pointer. */
#define HIDE(pointer) __asm__("" : "+r"(pointer))

enum { ROWS = 2 * FULL };

INLINE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* In this order: each uses those before it. */
/* clang-format off */
#include "cpu/ffma_tile.h"
#include "cpu/ffma_pack.h"
#include "cpu/ffma_small.h"
#include "cpu/ffma_blocks.h"
#include "cpu/ffma_tall.h"
#include "cpu/ffma_outer.h"
#include "cpu/ffma_few.h"
#include "cpu/ffma_vectors.h"
#include "cpu/ffma_elements.h"
/* clang-format on */

static void vector_product(const duo_product *p)
{
    if (p->m * p->n == 1 && (p->transa || p->lda == 1) && (!p->transb || p->ldb == 1)) {
        end_element(p, one_element(p->a, p->b, p->k), p->c);
        return;
    }
    if (p->m > 1 && p->n > 1) {
        if (p->transa ? p->transb && p->m <= 2 : p->transb || p->n <= 2)
            few_lines(p);
        else
            few_elements(p);
        return;
    }
    if (p->m * p->n <= DUO_FEW && p->k >= DUO_MANY && p->transa && !p->transb) {
        few_elements(p);
        return;
    }
    if (p->k <= DUO_CHAINS && p->n == 1) {
        if (p->transa)
            few_steps_of_rows(p);
        else
            few_steps(p);
        return;
    }
    const view w = p->n == 1 ? view_of(p) : transposed_view_of(p);
    if (w.along_k ? p->k < SHORT_ROW : w.m * p->k < 1 << 16)
        vector_in_registers(&w);
    else if (w.along_k)
        vector_by_rows(&w);
    else
        vector_by_columns(&w);
}

/* ---- Which path ---- */

/* So few rows that C is summed as its transpose even if all is small. */
static bool is_thin(const duo_product *p)
{
    return p->transb && p->n >= FULL && p->m <= 4 && p->k >= (p->m <= 3 ? 8 : 17);
}

/*
 * The most columns of Y for which X is read where it is, by `few`. There are fewer if X fits the L2
 * cache: then tiles of blocks are faster. They are slow for a transposed A of few rows, and if B is
 * packed for few rows: so C is summed as its transpose then. Measured with AVX2 on a Zen 3 and, but
 * for a B that would be packed, with AVX-512 on a Xeon.
 */
static int64_t most_columns(const view *w)
{
    const bool transposed = w->c_i != 1;
    if (transposed && is_thin(w->p)) return 4;
    if (w->p->k <= 16) return 0;
    const bool far = is_far(w->m * w->p->k);
    if (w->along_k) return w->m < FULL ? 0 : far ? 8 : 4;
    if (transposed && !is_far_for_tiles(w) && (w->p->transa ? w->n > 4 : w->n > 8 && packs_b(w->p)))
        return MOST_FEW;
    if (transposed && !far) return 4;
    if (w->m < 4 * FULL) return 0;
    return far ? 8 : 2;
}

static void multiply(const duo_product *p)
{
    if (p->vector) {
        vector_product(p);
        return;
    }
    if (is_small(p) && !is_thin(p)) {
        small(p);
        return;
    }
    if (p->k <= OUTER_STEPS && p->m >= ROWS) {
        if (p->transa)
            few_steps_of_rows(p);
        else
            few_steps(p);
        return;
    }
    if (p->m <= MOST_FEW || p->n <= MOST_FEW) {
        const view columns = view_of(p), rows = transposed_view_of(p);
        if (p->n <= most_columns(&columns)) {
            few(&columns);
            return;
        }
        if (p->m <= most_columns(&rows)) {
            few(&rows);
            return;
        }
    }
    if (is_tall(p))
        tall(p);
    else if (!multiply_blocks(p))
        without_memory(p);
}

/* Of small ones that are not packed each tile is computed for as many products as fit the L1 cache.
 * With one step, the orders of a vector product and of others are the same. */
enum { NEAR = 6 << 10 }; /* floats: 24 KB */

static void multiply_each(const duo_product *all, int64_t count, const float *const a[],
                          const float *const b[], float *const c[])
{
    duo_product p = *all;
    if (is_small(&p) && !p.transa && (!p.vector || p.k == 1)) {
        const int64_t floats = p.m * p.k + p.k * p.n + p.m * p.n;
        const int64_t most = floats < NEAR ? NEAR / floats : 1;
        for (int64_t i = 0; i < count; i += most) {
            many some_of = {a + i, b + i, c + i, smaller(count - i, most), 0, 0, 0};
            small_of_many(&p, &some_of);
        }
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        p.a = a[i];
        p.b = b[i];
        p.c = c[i];
        multiply(&p);
    }
}

static void finish(const duo_product *p, const float *sums, int64_t segments, int64_t j0, int64_t n)
{
    for (int64_t j = j0; j < j0 + n; j++)
        for (int64_t i = 0; i < p->m; i += FULL) {
            const mask which = some(p->m - i);
            vec total = load_some(sums + i + j * p->m, which);
            for (int64_t s = 1; s < segments; s++)
                total = plus(total, load_some(sums + (s * p->n + j) * p->m + i, which));
            end_vector(p, total, p->c + i + j * p->ldc, p->m - i);
        }
}

const duo_ffma CLONE = {.number_bytes = sizeof(number),
                        .rows = ROWS,
                        .columns = COLUMNS,
                        .block_rows = BLOCK_ROWS,
                        .multiply = multiply,
                        .multiply_each = multiply_each,
                        .packs_b = packs_b,
                        .panel_numbers = panel_numbers,
                        .panel_width = even_columns,
                        .pack = pack_panel,
                        .multiply_panel = multiply_panel,
                        .pack_rows = pack_rows,
                        .finish = finish};
