/*
 * append.h - opens a file of summaries, of which the program or the user gave the name.
 *
 * In a folder of all users another user may have put a file or a symbolic link of that name there.
 * What is there has to belong to the user or root: the file, or the link to it.
 */
#ifndef DUO_APPEND_H
#define DUO_APPEND_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

static inline bool duo_append_trusts(const struct stat *status)
{
    return status->st_uid == geteuid() || status->st_uid == 0;
}

/* A descriptor that appends; -1: errno tells why not. It does not wait for a FIFO without a
 * reader. */
static inline int duo_append_open(const char *path)
{
    const int how = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK;
    struct stat status;
    const int file = open(path, how | O_NOFOLLOW, 0644);
    if (file < 0) {
        if (errno != ELOOP || lstat(path, &status) != 0) return -1;
        if (duo_append_trusts(&status)) return open(path, how, 0644);
    } else {
        if (fstat(file, &status) == 0 && duo_append_trusts(&status)) return file;
        (void)close(file);
    }
    errno = EPERM;
    return -1;
}

#endif
