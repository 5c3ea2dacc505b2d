/*
 * folder.h - a folder of the test's own, one at a time, below TMPDIR or the system's folder for
 * temporary files.
 */
#ifndef DUO_TESTS_FOLDER_H
#define DUO_TESTS_FOLDER_H

/* A new, empty one, until test_folder_end. */
void test_folder_begin(void);
const char *test_folder(void);
/* Removes it and all that is in it. */
void test_folder_end(void);

#endif
