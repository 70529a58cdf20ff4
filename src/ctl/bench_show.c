/* SPDX-License-Identifier: MIT */
#include "ctl/bench_show.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/str.h"
#include "ctl/term.h"

#define BAR_COLUMNS 50

static double msec(uint64_t usec)
{
    return (double) usec / 1000;
}

void bench_show_header(void)
{
    (void) printf("%s%5s %9s %8s %9s  %-26s %-26s %s%s\n", term_colour(COLOUR_BOLD), "conc.", "requests", "tokens/s",
                  "t/s/req.", "first token ms p50/95/99", "between pieces ms p50/95/99", "errors",
                  term_colour(COLOUR_NONE));
}

static void print_percentiles(struct samples *s, int width)
{
    char text[64] = "-";

    if (s->n > 0)
        (void) snprintf(text, sizeof text, "%.1f / %.1f / %.1f", msec(samples_percentile(s, 50)),
                        msec(samples_percentile(s, 95)), msec(samples_percentile(s, 99)));
    (void) printf(" %-*s", width, text);
}

static void print_errors(const struct level *l)
{
    const char *separator = " ";

    for (enum verdict v = 0; v < N_VERDICTS; v++) {
        if (v == VERDICT_GENERATED || l->verdicts[v] == 0)
            continue;
        (void) printf("%s%" PRIu64 " %s", separator, l->verdicts[v], verdict_name(v));
        separator = ", ";
    }
}

void bench_show_row(struct level *l)
{
    double rate = (double) samples_percentile(&l->rate, 50) / 1000;

    (void) printf("%5" PRIu64 " %9" PRIu64 " %8.1f %9.1f ", l->concurrency, l->requests, level_throughput(l), rate);
    print_percentiles(&l->first_token, 26);
    print_percentiles(&l->between, 26);
    print_errors(l);
    (void) putchar('\n');
    (void) fflush(stdout);
}

static double highest(const struct level *levels, size_t n)
{
    double most = 0;

    for (size_t i = 0; i < n; i++)
        most = MAX(most, level_throughput(&levels[i]));
    return most;
}

void bench_show_bars(const struct level *levels, size_t n)
{
    double most = highest(levels, n);

    if (most <= 0)
        return;
    (void) printf("\nTokens a second over concurrency\n");
    for (size_t i = 0; i < n; i++) {
        double value = level_throughput(&levels[i]);

        (void) printf("%5" PRIu64 " |", levels[i].concurrency);
        for (int column = 0; column < (int) (value / most * BAR_COLUMNS + 0.5); column++)
            (void) putchar('#');
        (void) printf(" %.1f\n", value);
    }
}

#define WIDTH 640
#define HEIGHT 360
#define MARGIN 60

struct point {
    double x, y;
};

/* Levels stand side by side, since people double them. */
static struct point place(const struct level *l, size_t i, size_t n, double most)
{
    double across = n > 1 ? (double) i / (double) (n - 1) : 0.5;

    return (struct point){
        .x = MARGIN + across * (WIDTH - 2 * MARGIN),
        .y = HEIGHT - MARGIN - level_throughput(l) / most * (HEIGHT - 2 * MARGIN),
    };
}

static void append_escaped(struct strbuf *b, const char *text)
{
    for (const char *s = text; *s; s++) {
        if (*s == '<' || *s == '&' || *s == '>' || *s == '"')
            strbuf_appendf(b, "&#%d;", *s);
        else
            strbuf_append_char(b, *s);
    }
}

static void append_frame(struct strbuf *b, const char *title)
{
    strbuf_appendf(b,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" "
                   "font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
                   "<text x=\"%d\" y=\"30\" font-size=\"16\">",
                   WIDTH, HEIGHT, MARGIN);
    append_escaped(b, title);
    strbuf_appendf(b,
                   "</text>\n<path d=\"M%d %dV%dH%d\" fill=\"none\" stroke=\"#888\"/>\n"
                   "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">requests at a time</text>\n",
                   MARGIN, MARGIN - 10, HEIGHT - MARGIN, WIDTH - MARGIN + 10, WIDTH / 2, HEIGHT - 12);
}

static void append_points(struct strbuf *b, const struct level *levels, size_t n, double most)
{
    strbuf_append(b, "<polyline fill=\"none\" stroke=\"#1f77b4\" stroke-width=\"2\" points=\"");
    for (size_t i = 0; i < n; i++) {
        struct point p = place(&levels[i], i, n, most);

        strbuf_appendf(b, "%.1f,%.1f ", p.x, p.y);
    }
    strbuf_append(b, "\"/>\n");
    for (size_t i = 0; i < n; i++) {
        struct point p = place(&levels[i], i, n, most);

        strbuf_appendf(b,
                       "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"#1f77b4\"/>"
                       "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%.1f t/s</text>"
                       "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%" PRIu64 "</text>\n",
                       p.x, p.y, p.x, p.y - 8, level_throughput(&levels[i]), p.x, HEIGHT - MARGIN + 18,
                       levels[i].concurrency);
    }
}

char *bench_svg(const struct level *levels, size_t n, const char *title)
{
    struct strbuf b = {};
    double most = highest(levels, n);

    append_frame(&b, title);
    append_points(&b, levels, n, most > 0 ? most : 1);
    strbuf_append(&b, "</svg>\n");
    return strbuf_steal(&b);
}
