/* SPDX-License-Identifier: MIT */
#pragma once

/* Stories told to the state machine, as tables: each line an event, and where it leads. */

#include "base/macro.h"
#include "core/supervision/fsm.h"

#define SEC USEC_PER_SEC
#define STORY_START (1000 * SEC) /* no story begins at the beginning of time */

/* Ten minutes of stall and stability, an hour of loading, a minute of stopping, 15 s for a dump;
 * preflight, in place, three failures to fall, two passes to rise. */
extern const struct fsm_limits story_limits;

/* One line of a story: so much later comes that event; then the machine is there and asks that. */
struct story_line {
    usec_t after;
    enum fsm_event_kind event;
    enum phase phase;
    const char *actions; /* names with a space between; "" for none */
    struct fsm_decision decision;
    usec_t pause_usec;
};

#define AT(after_usec, kind, where, wanted) \
    {.after = (after_usec), .event = (kind), .phase = (where), .actions = (wanted)}
#define DECIDED(after_usec, where, wanted, ...)                                            \
    {.after = (after_usec), .event = FSM_DIAGNOSED, .phase = (where), .actions = (wanted), \
     .decision = __VA_ARGS__}
#define PAUSED(after_usec, for_usec, where, wanted)                                    \
    {.after = (after_usec), .event = FSM_PAUSE, .phase = (where), .actions = (wanted), \
     .pause_usec = (for_usec)}
#define RESTART_IN(seconds) \
    {.restart = true, .delay_usec = (seconds) * SEC, .exit_code = EXIT_RESTART}
#define GIVE_UP {.exit_code = EXIT_UNMENDABLE}

struct story_teller {
    struct fsm fsm;
    struct fsm_limits limits;
    usec_t now;
};

struct story_teller story_teller(const struct fsm_limits *limits);
/* Fails the test where the machine does something else. */
void story_tell(struct story_teller *t, const char *story, const struct story_line *lines, size_t n);

#define TELL(t, ...)                                            \
    do {                                                        \
        static const struct story_line lines[] = {__VA_ARGS__}; \
        story_tell((t), __func__, lines, ARRAY_SIZE(lines));    \
    } while (0)

/* Beginnings that many stories share */

#define TO_LOADING                                           \
    AT(0, FSM_START, PHASE_PREFLIGHT, "preflight"),          \
        AT(0, FSM_PREFLIGHT_PASSED, PHASE_LOADING, "spawn"), \
        AT(0, FSM_SPAWNED, PHASE_LOADING, "prove")
#define TO_PROVING \
    TO_LOADING, AT(0, FSM_PORT_OPEN, PHASE_LISTENING, ""), AT(0, FSM_CANARY_SENT, PHASE_PROVING, "")
#define TO_READY TO_PROVING, AT(0, FSM_SUITE_PASSED, PHASE_READY, "live")
#define TO_DIAGNOSIS                                                  \
    TO_READY, AT(0, FSM_EXITED, PHASE_STOPPING, "quiet signal"),      \
        AT(0, FSM_EMPTY, PHASE_STOPPING, "collect")
