/*
 * fuzz_values.c - the values of the tool's options against any text: numbers, bytes, sizes, ranges
 * of sizes and shapes. What is taken lies in its range, and what is written again is the same.
 */
#include <inttypes.h>

#include "bench/tool/arguments.h"
#include "choice/algorithm.h"
#include "fuzz/fuzz.h"

static const int64_t largest = INT64_C(1) << 40;

static bool is_size(int64_t size) { return size >= 1 && size <= largest; }

/* A whole number is the same size again when it is printed. */
static void check_size(int64_t size)
{
    char text[32];
    int64_t again = 0;
    require(is_size(size), "a size");
    snprintf(text, sizeof text, "%" PRId64, size);
    require(duo_tool_size(text, &again) && again == size, "a size, printed");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *const text = text_of(data, size);
    int64_t number = 0, low = 0, high = 0, shape[3] = {0, 0, 0};
    double bytes = 0.0;
    if (duo_tool_number(text, -5, 1000, &number))
        require(number >= -5 && number <= 1000, "a number");
    if (duo_tool_bytes(text, &bytes)) require(bytes >= 1.0 && bytes <= 0x1p90, "bytes");
    if (duo_tool_size(text, &number)) check_size(number);
    if (duo_tool_range(text, &low, &high))
        require(is_size(low) && is_size(high) && low <= high, "a range");
    if (duo_tool_shape(text, shape))
        for (int i = 0; i < 3; i++) check_size(shape[i]);
    if (duo_tool_operation(text) < DUO_OPERATIONS)
        require(strcmp(text, duo_operation_name(duo_tool_operation(text))) == 0, "an operation");
    free(text);
    return 0;
}
