/*
 * places.c - operands in every residence, through the public API; see places.h.
 */
#include "support/places.h"

#include "support/harness.h"

#include <string.h>

const char *test_place_name(test_place place)
{
    static const char *const names[PLACES] = {"pageable", "pinned", "device", "kept"};
    return names[place];
}

test_placed test_put(duo_context *ctx, test_place place, test_array *array)
{
    test_placed placed = {place, array, array->data, NULL};
    if (array->bytes == 0) placed.place = PLACE_PAGEABLE;
    const size_t offset = (uintptr_t)array->data % ARRAY_ALIGNMENT;
    switch (placed.place) {
    case PLACE_PINNED:
        CHECK_STATUS(DUO_OK, duo_malloc_host(ctx, array->bytes + ARRAY_ALIGNMENT, &placed.memory));
        placed.address = (float *)(void *)((char *)placed.memory + offset);
        memcpy(placed.address, array->data, array->bytes);
        break;
    case PLACE_DEVICE:
        CHECK_STATUS(DUO_OK, duo_malloc(ctx, array->bytes + ARRAY_ALIGNMENT, &placed.memory));
        placed.address = (float *)(void *)((char *)placed.memory + offset);
        CHECK_STATUS(DUO_OK, duo_copy(ctx, placed.address, array->data, array->bytes));
        break;
    case PLACE_KEPT:
        CHECK_STATUS(DUO_OK, duo_keep(ctx, array->data, array->bytes));
        break;
    default:
        break;
    }
    return placed;
}

void test_take(duo_context *ctx, test_placed *placed)
{
    test_array *array = placed->array;
    switch (placed->place) {
    case PLACE_PINNED:
        memcpy(array->data, placed->address, array->bytes);
        CHECK_STATUS(DUO_OK, duo_free_host(ctx, placed->memory));
        break;
    case PLACE_DEVICE:
        CHECK_STATUS(DUO_OK, duo_copy(ctx, array->data, placed->address, array->bytes));
        CHECK_STATUS(DUO_OK, duo_free(ctx, placed->memory));
        break;
    case PLACE_KEPT:
        CHECK_STATUS(DUO_OK, duo_release(ctx, array->data));
        break;
    default:
        break;
    }
    *placed = (test_placed){0};
}
