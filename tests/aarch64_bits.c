/*
 * aarch64_bits.c - the hash of `duoblas bench bits` on 64-bit ARM: scripts/aarch64 runs it in an
 * emulator. Ends with status 0 if it is the documented one.
 */
#include <inttypes.h>
#include <stdio.h>

#include "bench/bits/bits.h"

/* There is no library inih for that processor. Nothing is read: built-in profiles are no text. */
int ini_parse_string(const char *text, void *handler, void *user);
int ini_parse_string(const char *text, void *handler, void *user)
{
    (void)text;
    (void)handler;
    (void)user;
    return -1;
}

int main(void)
{
    duo_context *ctx;
    duo_bits bits;
    if (duo_create(&ctx) != DUO_OK || duo_bits_run(ctx, 1, false, &bits) != DUO_OK) return 2;
    const bool same =
        bits.all == duo_bits_expected && bits.group[DUO_BITS_FLOAT64] == duo_bits_expected_float64;
    printf("bench bits: %016" PRIx64 ", products in float64: %016" PRIx64 "%s\n", bits.all,
           bits.group[DUO_BITS_FLOAT64], same ? "" : ": other bits than documented");
    duo_destroy(ctx);
    return !same;
}
