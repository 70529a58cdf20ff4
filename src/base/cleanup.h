/* SPDX-License-Identifier: MIT */
#pragma once

/* Scope-bound ownership: a variable marked `_cleanup_(f)` is handed to f when it goes out of
 * scope; `steal_pointer()` and `steal_fd()` take the value out and leave nothing to clean. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define _cleanup_(f) __attribute__((cleanup(f)))

/* Makes `name`p(T *p), fit for _cleanup_(), out of a destructor that takes T and accepts NULL. */
#define DEFINE_CLEANUP(type, destructor)                       \
    static inline void destructor##p(type *p) { destructor(*p); } \
    struct __useless_semicolon__

#define steal_pointer(pp)          \
    __extension__({                \
        __typeof__(pp) steal_p = (pp); \
        __auto_type steal_value = *steal_p; \
        *steal_p = NULL;           \
        steal_value;               \
    })

static inline int steal_fd(int *fd)
{
    int value = *fd;

    *fd = -1;
    return value;
}

/* Closes without touching errno; -1 is nothing to close. Returns -1 for `fd = close_fd(fd)`. */
static inline int close_fd(int fd)
{
    if (fd >= 0)
        (void) close(fd);
    return -1;
}

/* p points at a pointer of any type; copying it keeps within what aliasing allows. */
static inline void freep(void *p)
{
    void *value;

    memcpy(&value, p, sizeof(value));
    free(value);
}

static inline void close_fdp(const int *fd)
{
    close_fd(*fd);
}

static inline void close_filep(FILE **f)
{
    if (*f)
        (void) fclose(*f);
}

#define _cleanup_free_ _cleanup_(freep)
#define _cleanup_close_ _cleanup_(close_fdp)
#define _cleanup_fclose_ _cleanup_(close_filep)
