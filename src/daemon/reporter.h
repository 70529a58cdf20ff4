/* SPDX-License-Identifier: MIT */
#pragma once

/* Where a failure is written down: a report file, the journal, and what status shows of it. */

#include "core/diagnosis/report.h"

struct supervisor;

/* Completes the facts with who we are, writes the report and points latest.json at it, remembers it as the last
 * failure and tells the journal and Report.TerminationMessage=. A report that cannot be written is in the journal's record, whole. */
void reporter_report(struct supervisor *s, struct report_facts *facts);
/* The server has proved itself: the file that would explain our end no longer tells of the last failure. */
void reporter_ready(struct supervisor *s);
