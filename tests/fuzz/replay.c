/*
 * replay.c - fuzz_NAME FOLDER...: calls the target with every file in these folders. For builds
 * without libFuzzer, which has a main of its own.
 */
#include <dirent.h>

#include "fuzz/fuzz.h"

static void replay_file(const char *path)
{
    FILE *const file = fopen(path, "rb");
    require(file != NULL && fseek(file, 0, SEEK_END) == 0, path);
    const long size = ftell(file);
    rewind(file);
    uint8_t *const data = malloc((size_t)size + 1);
    require(size >= 0 && data != NULL && fread(data, 1, (size_t)size, file) == (size_t)size, path);
    fclose(file);
    (void)LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
}

int main(int argc, char **argv)
{
    int files = 0;
    for (int i = 1; i < argc; i++) {
        DIR *const folder = opendir(argv[i]);
        require(folder != NULL, argv[i]);
        for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
            char path[1024];
            if (entry->d_name[0] == '.') continue;
            snprintf(path, sizeof path, "%s/%s", argv[i], entry->d_name);
            replay_file(path);
            files++;
        }
        closedir(folder);
    }
    fprintf(stderr, "%d files\n", files);
    return files > 0 ? 0 : 1;
}
