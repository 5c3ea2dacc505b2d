/*
 * profile_text.h - the text of a profile file: all fields except curves in one table, for reading
 * here and for writing (bench/tool/profile_write.c); the names of the other sections; reading.
 */
#ifndef DUO_PROFILE_TEXT_H
#define DUO_PROFILE_TEXT_H

#include "choice/correction.h"
#include "choice/built_in.h"
#include "choice/profile.h"

/* ---- Fields ---- */

/* The format that is written. The format before it, without noise, is read as well. */
enum { DUO_PROFILE_FORMAT = 5 };

/* The form of a value in the file. All but the first two are whole numbers. */
typedef enum duo_field_kind {
    DUO_FIELD_TEXT,
    DUO_FIELD_EFFORT, /* a text: "full" or "quick" */
    DUO_FIELD_COUNT,
    DUO_FIELD_PICOSECONDS,
    DUO_FIELD_BYTES_PER_SECOND,
    DUO_FIELD_SHARE, /* of a whole, in millionths */
    DUO_FIELD_NOISE  /* a share that may exceed the whole, up to a limit */
} duo_field_kind;

/* When a file has to have a field. */
typedef enum duo_field_need {
    DUO_FIELD_ALWAYS,
    DUO_FIELD_WITH_SECTION, /* if the file has any field of its section */
    DUO_FIELD_IF_MEASURED   /* it may be missing: then it is 0 */
} duo_field_need;

typedef struct duo_field {
    const char *section, *name;
    duo_field_kind kind;
    duo_field_need need;
    size_t offset, size; /* in duo_profile */
} duo_field;

enum { DUO_FIELDS = 21 + 4 * DUO_OPERATIONS };
extern const duo_field duo_profile_fields[DUO_FIELDS];

/* Whole numbers in the file are from low to high, in units. */
typedef struct duo_field_range {
    long long low, high;
    double unit;
} duo_field_range;

extern const duo_field_range duo_field_ranges[];

/* Is the character forbidden in a text, because it has a meaning in the format or is no text? */
bool duo_field_forbids(char c);

/* ---- The other sections ---- */

/* Sections of curves: the algorithm's name follows. */
enum { DUO_SECTION_CURVE, DUO_SECTION_TEAM_CURVE, DUO_CURVE_SECTIONS };
extern const char *const duo_curve_sections[DUO_CURVE_SECTIONS];

extern const char *const duo_correction_sections[DUO_CORRECTED][DUO_CORRECTED_THREADS];

/* ---- Corrections ---- */

/*
 * A line has a layout, m and n, and the factors for the seven sizes of k in ten-thousandths:
 *
 *     tn 9 250 = 12040 11870 9960 9830 9910 9910 9910
 *
 * A correction has a line for every layout, m and n, in order.
 */

enum {
    DUO_CORRECTION_LINES = DUO_CORRECTION_LAYOUTS * DUO_CORRECTION_SIZES * DUO_CORRECTION_SIZES,
    DUO_CORRECTION_NAME = 32
};

extern const double duo_correction_unit; /* of the factors */

/* What stands before the factors of a line. */
void duo_correction_name(int line, char name[DUO_CORRECTION_NAME]);

/* Reads the line after `lines` others; false: it is another line. The last line makes the
 * correction `measured`. */
bool duo_correction_read(duo_correction *correction, int lines, const char *name,
                         const char *value);

/* ---- Reading ---- */

/*
 * Reads a profile from a string. Every line must be right: known, given once, in its range; in a
 * curve sizes grow and seconds do not fall; a section is whole. All values are finite, and survive
 * duo_profile_print and reading again. On failure returns false with the reason in `why`.
 */
bool duo_profile_parse(const char *text, duo_profile *profile, char *why, size_t why_size);
/* Takes entries of a built-in profile, which the build made from a file. */
void duo_profile_fill(duo_profile *profile, const duo_entry *entry, size_t entries);

#endif
