/* SPDX-License-Identifier: MIT */
#pragma once

/* From log lines to evidence, to the steps of loading and to first alarms. */

#include "core/config/config.h"
#include "core/diagnosis/catalog.h"
#include "core/diagnosis/evidence.h"
#include "core/diagnosis/logline.h"

/* What a line can make happen. All borrowed until the call returns. */
struct watcher_events {
    void (*progress)(void *userdata);                             /* the server says something */
    void (*step)(const struct phase_config *step, void *userdata); /* another step of loading begins */
    void (*decisive)(const struct signature *s, void *userdata);   /* this cannot end well */
};

struct watcher;

/* Catalog and config are borrowed for the watcher's life. *ret_errors and -EINVAL as matcher_new(). */
must_check int watcher_new(const struct catalog *catalog, const struct config *config,
                           const struct watcher_events *events, void *userdata, struct watcher **ret,
                           char ***ret_errors);
/* Catalog and configuration of the same instance, read anew and borrowed like the first, which are let go of:
 * they count for the lines to come, and what was seen of this epoch stays. As watcher_new(); a failure leaves
 * everything as it was. */
must_check int watcher_reconfigure(struct watcher *w, const struct catalog *catalog,
                                   const struct config *config, char ***ret_errors);
/* A new epoch: nothing has been seen. */
void watcher_begin(struct watcher *w);
void watcher_line(struct watcher *w, const struct log_line *line);
/* The output of a failed probe, as if the server had printed it. */
void watcher_text(struct watcher *w, const char *text, size_t len);
/* From now on lines explain nothing: we are ending the server ourselves. */
void watcher_close(struct watcher *w);
/* A canary has passed: what was said before was survived. */
void watcher_survived(struct watcher *w);
/* Lines of this epoch that could not be looked at for want of memory. */
uint64_t watcher_lost(const struct watcher *w);
const struct evidence *watcher_evidence(const struct watcher *w);
void watcher_free(struct watcher *w);
DEFINE_CLEANUP(struct watcher *, watcher_free);
