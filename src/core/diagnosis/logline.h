/* SPDX-License-Identifier: MIT */
#pragma once

/* One line of the server's or the kernel's log as it arrived: what journal and pipe both deliver. */

#include <stddef.h>
#include <sys/types.h>

#include "base/timeutil.h"

/* LOG_ANY: of a line, that its source is not known; of a signature, that it does not matter. */
enum log_source { LOG_SERVER, LOG_KERNEL, LOG_ANY };

struct log_line {
    enum log_source source;
    const char *text; /* borrowed; not NUL-terminated, any byte may occur */
    size_t len;
    pid_t pid;        /* the writer as journald knows it; 0 when unknown */
    usec_t realtime;  /* when it was received; 0 when unknown */
};
