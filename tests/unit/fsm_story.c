/* SPDX-License-Identifier: MIT */
#include "fsm_story.h"

#include "base/str.h"
#include "unit.h"

const struct fsm_limits story_limits = {
    .preflight = true,
    .mode = RESTART_IN_PLACE,
    .stall_usec = 600 * SEC,
    .load_timeout_usec = 3600 * SEC,
    .dump_usec = 15 * SEC,
    .stop_usec = 60 * SEC,
    .stable_usec = 600 * SEC,
    .fall = 3,
    .rise = 2,
};

struct story_teller story_teller(const struct fsm_limits *limits)
{
    return (struct story_teller){.fsm = fsm_initial(), .limits = *limits, .now = STORY_START};
}

static void assert_actions(const char *story, size_t i, const struct fsm_step *step,
                           const char *wanted)
{
    _cleanup_strbuf_ struct strbuf got = {};

    for (size_t k = 0; k < step->n_actions; k++)
        strbuf_appendf(&got, "%s%s", k > 0 ? " " : "", fsm_action_name(step->actions[k]));
    if (!str_equal(str_or_empty(got.data), wanted))
        fail_msg("%s, line %zu: asks for \"%s\", not \"%s\"", story, i, str_or_empty(got.data),
                 wanted);
}

void story_tell(struct story_teller *t, const char *story, const struct story_line *lines, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct fsm_event event = {.kind = lines[i].event,
                                  .epoch = t->fsm.epoch,
                                  .decision = lines[i].decision,
                                  .pause_usec = lines[i].pause_usec};
        enum phase before = t->fsm.phase;
        struct fsm_step step;

        t->now = usec_add(t->now, lines[i].after);
        step = fsm_step(&t->fsm, &t->limits, &event, t->now);
        if (step.next.phase != lines[i].phase)
            fail_msg("%s, line %zu (%s): is %s, not %s", story, i, fsm_event_name(lines[i].event),
                     phase_name(step.next.phase), phase_name(lines[i].phase));
        assert_actions(story, i, &step, lines[i].actions);
        if (step.next.phase != before && str_empty(step.reason))
            fail_msg("%s, line %zu: no reason", story, i);
        t->fsm = step.next;
    }
}
