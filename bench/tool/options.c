/* options.c - parses the values of options (arguments.h) */
#include "bench/tool/arguments.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "choice/algorithm.h"

duo_operation duo_tool_operation(const char *name)
{
    int operation = 0;
    while (operation < DUO_OPERATIONS &&
           strcmp(name, duo_operation_name((duo_operation)operation)) != 0)
        operation++;
    return (duo_operation)operation;
}

bool duo_tool_number(const char *text, int64_t low, int64_t high, int64_t *number)
{
    char *end;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < low || value > high) return false;
    *number = value;
    return true;
}

bool duo_tool_bytes(const char *text, double *bytes)
{
    static const char units[] = "KMG";
    char number[24];
    int64_t count;
    const size_t digits = strspn(text, "0123456789");
    const char *const unit = text[digits] != '\0' ? strchr(units, text[digits]) : NULL;
    if (digits >= sizeof number || (text[digits] != '\0' && unit == NULL)) return false;
    if (unit != NULL && text[digits + 1] != '\0') return false;
    memcpy(number, text, digits);
    number[digits] = '\0';
    if (!duo_tool_number(number, 1, INT64_C(1) << 60, &count)) return false;
    *bytes = ldexp((double)count, unit != NULL ? 10 * (int)(unit - units + 1) : 0);
    return true;
}

static const int64_t largest_size = INT64_C(1) << 40;

/* Parses "1e6", "2.5e3": a decimal with a whole value. It may have only a few digits, so that no
 * two have the same double. */
static bool parse_decimal(const char *text, int64_t *size)
{
    enum { DIGITS = 15 };
    char *end;
    const size_t length = strlen(text);
    if (length > DIGITS || strspn(text, "0123456789.e+") < length) return false;
    const double value = strtod(text, &end);
    if (end == text || *end != '\0') return false;
    if (!(value >= 1.0 && value <= (double)largest_size) || value != floor(value)) return false;
    *size = (int64_t)value;
    return true;
}

static bool is_power(const char *text) { return strncmp(text, "2^", 2) == 0; }

bool duo_tool_size(const char *text, int64_t *size)
{
    int64_t exponent;
    if (!is_power(text))
        return duo_tool_number(text, 1, largest_size, size) || parse_decimal(text, size);
    if (!duo_tool_number(text + 2, 0, 40, &exponent)) return false;
    *size = INT64_C(1) << exponent;
    return true;
}

bool duo_tool_range(const char *text, int64_t *low, int64_t *high)
{
    char first[24];
    const char *const dots = strstr(text, "..");
    if (dots == NULL) {
        const bool good = duo_tool_size(text, low);
        *high = *low;
        return good;
    }
    const size_t length = (size_t)(dots - text);
    if (length >= sizeof first) return false;
    memcpy(first, text, length);
    first[length] = '\0';
    return is_power(first) && is_power(dots + 2) && duo_tool_size(first, low) &&
           duo_tool_size(dots + 2, high) && *low <= *high;
}

bool duo_tool_shape(const char *text, int64_t shape[3])
{
    int sides = 0;
    for (;;) {
        char side[24];
        const size_t length = strcspn(text, "x");
        if (length >= sizeof side || sides == 3) return false;
        memcpy(side, text, length);
        side[length] = '\0';
        if (!duo_tool_size(side, &shape[sides++])) return false;
        if (text[length] == '\0') break;
        text += length + 1;
    }
    if (sides == 1) shape[1] = shape[2] = shape[0];
    return sides == 1 || sides == 3;
}
