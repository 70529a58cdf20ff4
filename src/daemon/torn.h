/* SPDX-License-Identifier: MIT */
#pragma once

/* Epochs that were cut off with their supervisor. While an epoch lives, epoch.json in the state directory says so;
 * a supervisor that finds it at its start knows that the one before died in that epoch. */

struct supervisor;

/* The epoch at hand has a server now. Not synced to the disk: a dead supervisor is found by it, not a dead machine. */
void torn_mark(struct supervisor *s);
/* It has ended in order, and is reported if it failed. */
void torn_clear(struct supervisor *s);
/* Reports what an earlier supervisor has left behind, if anything. */
void torn_report(struct supervisor *s);
