/* SPDX-License-Identifier: MIT */
#include "core/diagnosis/prefix.h"

#include <string.h>

#include "base/macro.h"
#include "core/diagnosis/charset.h"
#include "core/diagnosis/timestamp.h"

/* No line has more. */
#define PREFIXES_MAX 16
/* Between brackets or parentheses. */
#define GROUP_MAX ((size_t) 96)
/* Where uvicorn's messages begin. */
#define LEVEL_COLUMN ((size_t) 10)

/* What has been recognised so far; some prefixes are none unless others stand before them. */
struct parse {
    struct prefix found;
    bool stamped;  /* a time stamp */
    bool levelled; /* a level */
    bool logger;   /* the last prefix announces a logger's name: "LEVEL:" or " - " */
};

/* Each returns what follows the prefix it knows, or NULL. */
typedef const char *recogniser(const char *s, struct parse *p);

static bool begins(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

static const char *skip_blanks(const char *s)
{
    while (*s == ' ' || *s == '\t')
        s++;
    return s;
}

static const char *skip_blank(const char *s)
{
    return *s == ' ' || *s == '\t' ? s + 1 : s;
}

/* Digits, at least one; NULL otherwise. */
static const char *skip_number(const char *s, int64_t *ret)
{
    size_t n = charset_span(s, CHARSET_DIGIT);

    if (n == 0 || n > 18)
        return NULL;
    if (ret) {
        *ret = 0;
        for (size_t i = 0; i < n; i++)
            *ret = *ret * 10 + (s[i] - '0');
    }
    return s + n;
}

/* The length of the level at s, 0 if there is none. */
static size_t level_length(const char *s)
{
    static const char *const levels[] = {
        "TRACE", "DEBUG", "INFO", "NOTICE", "WARN", "WARNING", "ERROR", "ERR", "CRITICAL", "FATAL",
        "SEVERE", "VERBOSE",
    };
    size_t n = charset_span(s, CHARSET_UPPER);

    for (size_t i = 0; n > 0 && i < ARRAY_SIZE(levels); i++) {
        if (strlen(levels[i]) == n && strncmp(s, levels[i], n) == 0)
            return n;
    }
    return 0;
}

/* "TP3", "DP0", "PP1": capitals and digits, as engines number their ranks. */
static size_t rank_length(const char *s)
{
    size_t letters = charset_span(s, CHARSET_UPPER), digits = charset_span(s + letters, CHARSET_DIGIT);

    return letters >= 2 && letters <= 3 && digits > 0 && digits <= 5 ? letters + digits : 0;
}

static void note_rank(struct parse *p, const char *s, size_t n)
{
    p->found.rank = s;
    p->found.rank_length = n;
}

/* Of several ranks in s[0..n), the tensor-parallel one, which is unlike in most processes. */
static void note_best_rank(struct parse *p, const char *s, size_t n)
{
    const char *end = s + n;

    while (s < end) {
        size_t length = rank_length(s);

        if (length > 0 && (begins(s, "TP") || !p->found.rank))
            note_rank(p, s, length);
        s += MAX(length, strcspn(s, " _|,)]"));
        s += *s != '\0' && s < end;
    }
}

/* What follows "NAME.EXT:123", as in "[core.py:708]" and "File.cpp:1595"; NULL if it is not there. */
static const char *skip_place(const char *s)
{
    size_t path = charset_span(s, CHARSET_PATH);
    const char *dot = path > 0 ? memrchr(s, '.', path) : NULL;

    if (!dot || dot == s || s[path] != ':' || (size_t) (s + path - dot) > 5)
        return NULL;
    return skip_number(s + path + 1, NULL);
}

static const char *stamp(const char *s, struct parse *p)
{
    const char *end = timestamp_skip(s);

    if (!end)
        return NULL;
    p->stamped = true;
    p->found.own = p->found.own || p->levelled;
    return level_length(skip_blanks(end)) > 0 ? skip_blanks(end) : skip_blank(end);
}

/* "INFO ", "ERROR:    ", "WARNING:logger". Behind the colon only the padding goes: what is indented
 * further, as the lines of a traceback are, stays so. */
static const char *level(const char *s, struct parse *p)
{
    size_t n = level_length(s), padded;

    if (n == 0 || (s[n] != ' ' && s[n] != ':'))
        return NULL;
    p->levelled = p->found.own = true;
    if (s[n] == ' ')
        return skip_blanks(s + n);
    p->logger = s[n + 1] != ' ';
    padded = n + 1 + strspn(s + n + 1, " ");
    return s + MIN(padded, MAX(n + 2, LEVEL_COLUMN));
}

/* The name of a Python logger: "flashinfer.jit: ". The class of an exception is none. */
static const char *logger_name(const char *s, struct parse *p)
{
    static const char *const exceptions[] = {"Error", "Exception", "Warning", "Exit", "Interrupt"};
    size_t n = p->logger ? charset_span(s, CHARSET_DOTTED) : 0;

    if (n == 0 || s[n] != ':' || (s[n + 1] == '\0'))
        return NULL;
    for (size_t i = 0; i < ARRAY_SIZE(exceptions); i++) {
        size_t length = strlen(exceptions[i]);

        if (n >= length && strncmp(s + n - length, exceptions[i], length) == 0)
            return NULL;
    }
    p->logger = false;
    return skip_blank(s + n + 1);
}

/* " - INFO - name: ", where the blank before the dash is gone already. */
static const char *dash(const char *s, struct parse *p)
{
    if (!p->stamped || !begins(s, "- "))
        return NULL;
    p->logger = p->levelled;
    return s + 2;
}

/* "xinference.api 4247 ERROR    " behind a time stamp. */
static const char *logger_pid_level(const char *s, struct parse *p)
{
    size_t name = p->stamped && !p->levelled ? charset_span(s, CHARSET_DOTTED) : 0;
    const char *end = name > 0 && s[name] == ' ' ? skip_number(s + name + 1, &p->found.pid) : NULL;

    if (!end || *end != ' ' || level_length(end + 1) == 0) {
        if (end)
            p->found.pid = -1;
        return NULL;
    }
    return skip_blanks(end);
}

/* "core.py:524: ", "engine.py:400] ", "llama.go:459: " */
static const char *place(const char *s, struct parse *p)
{
    const char *end = p->stamped || p->levelled ? skip_place(s) : NULL;

    if (!end || (*end != ':' && *end != ']') || (end[1] != ' ' && end[1] != '\0'))
        return NULL;
    p->found.own = true;
    return skip_blank(end + 1);
}

/* "E0603 20:16:59.1 4242 file.cc:16] ", "W0821 09:49:24.963000 552076 torch/x.py:1731] " and, between
 * brackets, "E218 06:32:24.8 File.cpp:1595". */
static const char *glog_body(const char *s, struct parse *p)
{
    const char *end;

    if (!strchr("DIWEFV", *s) || *s == '\0')
        return NULL;
    end = skip_number(s + 1, NULL);
    if (!end || end - s < 4 || end - s > 6 || *end != ' ')
        return NULL;
    end = timestamp_skip_clock(skip_blanks(end));
    if (!end)
        return NULL;
    end = skip_blanks(end);
    if (charset_span(end, CHARSET_DIGIT) > 0 && end[charset_span(end, CHARSET_DIGIT)] == ' ') {
        end = skip_number(end, &p->found.pid);
        end = end ? skip_blanks(end) : NULL;
    }
    return end ? skip_place(end) : NULL;
}

static const char *glog(const char *s, struct parse *p)
{
    const char *end = glog_body(s, p);

    if (!end || *end != ']')
        return NULL;
    p->stamped = p->levelled = p->found.own = true;
    return skip_blank(end + 1);
}

/* "0.00.123.456 E " of llama-server. */
static const char *llama_prefix(const char *s, struct parse *p)
{
    const char *end = s;

    for (int part = 0; part < 4; part++) {
        end = skip_number(end, NULL);
        if (!end || *end != (part < 3 ? '.' : ' '))
            return NULL;
        end++;
    }
    if (!strchr("DIWE", *end) || *end == '\0' || end[1] != ' ')
        return NULL;
    p->levelled = p->found.own = true;
    return end + 2;
}

/* "host1 ident[4242]: " or "host1 kernel: " behind a time stamp, and "kernel: " anywhere. */
static const char *syslog_ident(const char *s, struct parse *p)
{
    size_t host = p->stamped && !p->levelled ? charset_span(s, CHARSET_HOST) : 0;
    const char *ident = host > 0 && s[host] == ' ' ? s + host + 1 : s;
    size_t n = charset_span(ident, CHARSET_HOST | CHARSET_COLON | CHARSET_AT | CHARSET_SLASH_PLUS);
    const char *end;

    if (begins(ident, "kernel: ")) {
        p->found.own = true;
        return ident + strlen("kernel: ");
    }
    if (ident == s || n == 0 || ident[n] != '[')
        return NULL;
    end = skip_number(ident + n + 1, NULL);
    return end && begins(end, "]:") ? skip_blank(end + 2) : NULL;
}

/* "kern  :warn  : " of dmesg -x */
static const char *dmesg_facility(const char *s, struct parse *p unused)
{
    size_t facility = charset_span(s, CHARSET_LOWER);
    const char *severity;
    size_t n;

    if (!begins(s, "kern ") && !begins(s, "user ") && !begins(s, "daemon"))
        return NULL;
    severity = skip_blanks(s + facility);
    if (*severity != ':')
        return NULL;
    severity++;
    n = charset_span(severity, CHARSET_LOWER);
    severity = skip_blanks(severity + n);
    return n > 0 && *severity == ':' ? skip_blank(severity + 1) : NULL;
}

/* "vllm-1  | " of docker compose. */
static const char *compose(const char *s, struct parse *p)
{
    size_t n = charset_span(s, CHARSET_HOST);
    const char *bar = skip_blanks(s + n);

    if (p->found.length > 0 || n == 0 || charset_span(s, CHARSET_DIGIT) == n || bar == s + n || !begins(bar, "| "))
        return NULL;
    return bar + 2;
}

/* "stdout F " of container runtimes, "stderr/ERROR  " of front ends. */
static const char *stream_name(const char *s, struct parse *p)
{
    size_t n = charset_span(s, CHARSET_LOWER);

    if (!p->stamped || n == 0)
        return NULL;
    if (s[n] == '/' && level_length(s + n + 1) > 0)
        return skip_blanks(s + n + 1 + level_length(s + n + 1));
    if ((begins(s, "stdout ") || begins(s, "stderr ")) && strchr("FP", s[7]) && s[7] != '\0' && s[8] == ' ')
        return s + 9;
    return NULL;
}

/* "time=2025-03-12T12:14:22.015Z", "level=ERROR", "source=sched.go:456" of logfmt. */
static const char *logfmt(const char *s, struct parse *p)
{
    static const char *const keys[] = {"time=", "level=", "source=", "ts=", "caller="};

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        const char *value = s + strlen(keys[i]);

        if (!begins(s, keys[i]))
            continue;
        value += *value == '"' ? 1 + strcspn(value + 1, "\"") : strcspn(value, " ");
        p->found.own = true;
        return skip_blank(value + (*value == '"'));
    }
    return NULL;
}

/* "text_generation_launcher: ", "shard-manager: " behind a time stamp and a level. */
static const char *tracing_target(const char *s, struct parse *p)
{
    size_t n = p->stamped && p->levelled ? charset_span(s, CHARSET_LOWER | CHARSET_DIGIT | CHARSET_UNDERSCORE | CHARSET_DASH | CHARSET_COLON) : 0;

    if (n < 2 || s[n - 1] != ':' || s[n] != ' ')
        return NULL;
    if (!memchr(s, '_', n) && !memchr(s, '-', n) && !begins(s, "download:"))
        return NULL;
    return s + n + 1;
}

/* "host1:329:330 [0] " of NCCL. */
static const char *nccl(const char *s, struct parse *p)
{
    size_t host = charset_span(s, CHARSET_HOST);
    int64_t pid = -1;
    const char *end = host > 0 && s[host] == ':' ? skip_number(s + host + 1, &pid) : NULL;

    if (end && *end == ':')
        end = skip_number(end + 1, NULL);
    else
        end = NULL;
    if (!end || !begins(end, " ["))
        return NULL;
    end = skip_number(end + 2, NULL);
    if (!end || !begins(end, "] "))
        return NULL;
    p->found.pid = pid;
    p->found.own = true;
    return end + 2;
}

/* "(EngineCore_DP0 pid=60) ", "(RayWorkerWrapper pid=7, ip=192.0.2.1) ", "(raylet) " */
static const char *process(const char *s, struct parse *p)
{
    size_t n = *s == '(' ? strcspn(s, ")") : 0;
    const char *pid, *rank;

    if (n == 0 || n > GROUP_MAX || s[n] != ')')
        return NULL;
    pid = memmem(s, n, "pid=", 4);
    if (!pid && !begins(s, "(raylet"))
        return NULL;
    if (pid)
        (void) skip_number(pid + 4, &p->found.pid);
    rank = memmem(s, n, " rank=", 6);
    if (rank)
        note_rank(p, rank + 1, strcspn(rank + 1, " ,)"));
    for (const char *part = s; part < s + n && *part != ' '; part++) {
        if (*part == '_' || *part == '(')
            note_best_rank(p, part + 1, strcspn(part + 1, " _)"));
    }
    p->found.own = true;
    return skip_blank(s + n + 1);
}

/* "[2025-02-09 20:33:21 TP0]", "[12/07/2025-00:20:58]", "[ 7386.259769]", "[16:10:33]" */
static bool is_stamp_group(const char *s, size_t n, struct parse *p)
{
    const char *inside = skip_blanks(s + 1), *end = timestamp_skip(inside);

    if (!end)
        end = timestamp_skip_uptime(inside);
    if (!end || end > s + n || (end < s + n && !strchr(" |,", *end)))
        return false;
    note_best_rank(p, end + (end < s + n), (size_t) (s + n - end));
    return p->stamped = true;
}

/* Names that stand between brackets: levels, frameworks, threads, loggers, places. */
static bool is_name_group(const char *s, size_t n, struct parse *p)
{
    static const char *const known[] = {"[TensorRT-LLM]", "[TRT-LLM]", "[TRT]", "[MainThread]"};
    const char *inside = s + 1, *end = skip_place(inside);
    size_t letters = level_length(inside);

    for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
        if (begins(s, known[i]))
            return true;
    }
    if (letters > 0 && letters == n - 1) {
        p->levelled = true;
        return true;
    }
    if (end == s + n)
        return true;
    if (!p->stamped && !p->levelled)
        return false;
    if (n == 2 && strchr("TDIVWEF", *inside))
        return p->levelled = true;
    return (memchr(inside, '.', n - 1) && charset_span(inside, CHARSET_DOTTED) == n - 1) ||
        charset_span(inside, CHARSET_DIGIT | CHARSET_SLASH_PLUS) == n - 1;
}

/* "[host1:345  :0:4945]" of UCX */
static bool is_ucx_group(const char *s, size_t n, struct parse *p)
{
    size_t host = charset_span(s + 1, CHARSET_HOST);
    const char *rest = s + 1 + host;
    int64_t pid = -1;

    if (host == 0 || *rest != ':' || !skip_number(rest + 1, &pid) || strspn(rest, "0123456789: ") != n - 1 - host)
        return false;
    if (charset_span(rest, CHARSET_DIGIT | CHARSET_COLON) == n - 1 - host)
        return false;
    p->found.pid = pid;
    return true;
}

static const char *bracketed(const char *s, struct parse *p)
{
    size_t n = *s == '[' ? strcspn(s, "]") : 0;

    if (n < 2 || n > GROUP_MAX || s[n] != ']')
        return NULL;
    if (!is_stamp_group(s, n, p) && !is_ucx_group(s, n, p) && glog_body(s + 1, p) != s + n &&
        !is_name_group(s, n, p))
        return NULL;
    p->found.own = true;
    if (s[n + 1] == ':' && s[n + 2] == ' ')
        n++;
    return skip_blank(s + n + 1);
}

/* "[rank1]:" of torch, "[1,0]<stderr>:" of mpirun */
static const char *rank_group(const char *s, struct parse *p)
{
    size_t n = *s == '[' ? charset_span(s + 1, CHARSET_WORD | CHARSET_COMMA) : 0;
    const char *end = s + n + 2;

    if (n == 0 || s[n + 1] != ']')
        return NULL;
    if (begins(s, "[rank") && charset_span(s + 5, CHARSET_DIGIT) == n - 4 && *end == ':') {
        note_rank(p, s + 1, n);
        p->found.own = true;
        return skip_blank(end + 1);
    }
    if (charset_span(s + 1, CHARSET_DIGIT | CHARSET_COMMA) != n || (!begins(end, "<stdout>:") && !begins(end, "<stderr>:")))
        return NULL;
    if (!p->found.rank && memchr(s, ',', n))
        note_rank(p, strchr(s, ',') + 1, charset_span(strchr(s, ',') + 1, CHARSET_DIGIT));
    return end + strlen("<stdout>:");
}

static recogniser *const recognisers[] = {
    process, rank_group, bracketed, glog, stamp, level, logger_name, dash, logger_pid_level, place,
    syslog_ident, dmesg_facility, stream_name, logfmt, tracing_target, nccl, llama_prefix, compose,
};

static const char *skip_one(const char *s, struct parse *p)
{
    for (size_t i = 0; i < ARRAY_SIZE(recognisers); i++) {
        const char *end = recognisers[i](s, p);

        if (end)
            return end;
    }
    return NULL;
}

struct prefix prefix_parse(const char *text)
{
    struct parse p = {.found = {.pid = -1}};

    for (int i = 0; i < PREFIXES_MAX; i++) {
        const char *end = skip_one(text + p.found.length, &p);

        if (!end)
            break;
        p.found.length = (size_t) (end - text);
    }
    return p.found;
}
