/*
 * fuzz_explain.c - the command line of `duoblas explain` against any words, one a line: it predicts
 * a call and its plan, or refuses the words by its usage line. Nothing else ends it.
 */
#include "bench/tool/tool.h"
#include "fuzz/fuzz.h"

/* The options that print help end a process. */
static bool ends(const char *word)
{
    return strncmp(word, "--h", 3) == 0 || strncmp(word, "--u", 3) == 0 ||
           strncmp(word, "--v", 3) == 0 || (word[0] == '-' && word[1] != '-');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MOST = 24 };
    char program[] = "explain", *word[MOST + 2] = {program};
    char *const text = text_of(data, size), *rest = text;
    int words = 1;
    while (words <= MOST && (word[words] = next_line(&rest)) != NULL && !ends(word[words])) words++;
    word[words] = NULL;
    const int status = duo_tool_explain(words, word);
    require(status == EXIT_SUCCESS || status == DUO_EXIT_FAILURE || status == DUO_EXIT_USAGE,
            "the exit status");
    fflush(stdout);
    free(text);
    return 0;
}
