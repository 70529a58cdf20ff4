/* SPDX-License-Identifier: MIT */
#pragma once

/* What a benchmark looks like: a table, bars at the terminal, an SVG. */

#include "core/bench/level.h"

void bench_show_header(void);
void bench_show_row(struct level *l);
/* Throughput over concurrency as bars; nothing where nothing was measured. */
void bench_show_bars(const struct level *levels, size_t n);
/* The same as a picture. Owned; NULL: memory. */
must_check char *bench_svg(const struct level *levels, size_t n, const char *title);
