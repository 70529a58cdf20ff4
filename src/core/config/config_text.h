/* SPDX-License-Identifier: MIT */
#pragma once

/* Values as text that the parsers read back to the same value. */

#include "base/str.h"
#include "base/timeutil.h"

/* "1min 30s 500ms", "0", "infinity" */
void config_text_timespan(struct strbuf *b, usec_t span);
/* "64M", "1000", "infinity" */
void config_text_size(struct strbuf *b, uint64_t size);
/* The shortest decimal that reads back as the same number, "0.95". */
void config_text_real(struct strbuf *b, double value);
