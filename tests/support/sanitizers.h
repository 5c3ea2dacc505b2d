/*
 * sanitizers.h - which sanitizer this is built with: ThreadSanitizer does not support forks of
 * processes with threads; in a forked child locks of AddressSanitizer's malloc may stay taken (gcc
 * 12: libasan waits for one of its own); and all of them reserve the whole address space.
 */
#ifndef DUO_TESTS_SANITIZERS_H
#define DUO_TESTS_SANITIZERS_H

#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#endif
#endif
#ifndef UNDER_TSAN
#define UNDER_TSAN 0
#endif

#if UNDER_TSAN || defined(__SANITIZE_ADDRESS__)
#define UNDER_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDER_SANITIZER 1
#endif
#endif
#ifndef UNDER_SANITIZER
#define UNDER_SANITIZER 0
#endif

#endif
