/* SPDX-License-Identifier: MIT */
#include "core/diagnosis/literals.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/str.h"
#include "core/diagnosis/gram.h"

/* The bit table: 2^15 bits are 4 KiB, 2^18 still fit into the first-level cache, 2^19 nearly. With so many
 * bits for each gram, one position in 32 is looked at for nothing. */
#define MIN_LOG2_BITS 15
#define MAX_LOG2_BITS 19
#define BITS_PER_ENTRY 32
/* Longer literals are none that a pattern has. */
#define MAX_BYTES ((size_t) 1 << 20)
/* Slots while literals are being added, and at most. */
#define ADDING_LOG2_SLOTS 12
#define MAX_LOG2_SLOTS 14

/* For grams of three bytes. */
#define SHORT_BITS 4096

/* How many literals that are not wanted one text is searched for: more than an honest one asks for. */
#define LOOKUPS_MAX 400

/* Positions that are looked at in one go. */
#define BLOCK ((size_t) 128)

#define NONE SIZE_MAX
#define NOWHERE UINT32_MAX
#define NO_LITERAL UINT32_MAX

struct literal {
    uint32_t text;  /* where it stands among all texts */
    uint32_t len;
    uint32_t pivot; /* which of its bytes is the rarest in ordinary text */
    uint32_t next;  /* while literals are being added: the next one with the same slot */
    uint32_t at;    /* first occurrence in the text at hand; NOWHERE */
    uint32_t asked; /* not wanted: the scan for which `at` is known */
    bool wanted;
};

/* A gram of a wanted literal, and the bytes behind it, so that most chance meetings end without a look at the
 * literal itself. Only every second position of a text is looked at: each literal has two grams, one byte
 * apart. */
struct entry {
    uint64_t word; /* folded; where the literal ends earlier, padded with zero */
    uint64_t mask; /* which bytes of it there are */
    uint32_t id;
    uint32_t gram; /* where in the literal it begins */
};

/* Which sums the bytes behind the grams of a slot's entries have: of four bytes where the literal is so long,
 * else of two, else of any. */
struct filter {
    uint32_t four;
    uint32_t two;
};

struct literals {
    struct literal *items;
    size_t n;
    struct strbuf texts;   /* of all literals, each with its NUL */
    uint64_t *bits;
    unsigned bit_shift;    /* from hash to bit */
    uint32_t *slots;       /* where the entries of each begin; while adding: its first literal */
    unsigned slot_shift;   /* from hash to slot */
    struct entry *entries; /* by slot; then those of only three bytes */
    struct filter *filters; /* by slot */
    size_t n_entries;
    size_t short_entries;  /* where those of three bytes begin */
    uint64_t short_bits[SHORT_BITS / 64]; /* a bit for the hash of those three */
    size_t *found;         /* by the last scan */
    size_t n_found;
    const char *text;      /* of the last scan */
    size_t len;
    uint32_t scans;
    unsigned lookups_left; /* in this text */
};

int literals_new(struct literals **ret)
{
    _cleanup_(literals_freep) struct literals *l = calloc(1, sizeof(*l));
    size_t size = sizeof(*l->slots) << ADDING_LOG2_SLOTS;

    if (!l)
        return -ENOMEM;
    l->slot_shift = 32 - ADDING_LOG2_SLOTS;
    l->slots = malloc(size);
    if (!l->slots)
        return -ENOMEM;
    memset(l->slots, 0xff, size);
    *ret = steal_pointer(&l);
    return 0;
}

void literals_free(struct literals *l)
{
    if (!l)
        return;
    strbuf_release(&l->texts);
    free(l->items);
    free(l->bits);
    free(l->slots);
    free(l->entries);
    free(l->filters);
    free(l->found);
    free(l);
}

static const char *text_of(const struct literals *l, size_t id)
{
    return l->texts.data + l->items[id].text;
}

static int grow(struct literals *l)
{
    struct literal *grown;

    if ((l->n & (l->n - 1)) != 0)
        return 0;
    grown = reallocarray(l->items, l->n > 0 ? 2 * l->n : 1, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    l->items = grown;
    return 0;
}

int literals_add(struct literals *l, const char *text, bool wanted, size_t *ret_id)
{
    char key[GRAM_BYTES + 1] = "";
    uint32_t *slot, id;

    memcpy(key, text, strnlen(text, GRAM_BYTES));
    slot = &l->slots[gram_hash(key) >> l->slot_shift];
    for (id = *slot; id != NO_LITERAL && strcmp(text_of(l, id), text) != 0; )
        id = l->items[id].next;
    if (id != NO_LITERAL) {
        l->items[id].wanted = l->items[id].wanted || wanted;
        *ret_id = id;
        return 0;
    }
    if (l->n >= NO_LITERAL || l->texts.len > UINT32_MAX - MAX_BYTES || strlen(text) >= MAX_BYTES || grow(l) < 0)
        return -ENOMEM;
    l->items[l->n] = (struct literal){.text = (uint32_t) l->texts.len, .len = (uint32_t) strlen(text),
                                      .pivot = (uint32_t) gram_rarest_byte(text), .next = *slot, .at = NOWHERE,
                                      .wanted = wanted};
    strbuf_append_n(&l->texts, text, strlen(text) + 1);
    if (l->texts.failed)
        return -ENOMEM;
    *slot = (uint32_t) l->n;
    *ret_id = l->n++;
    return 0;
}

static unsigned log2_at_least(size_t n, unsigned min, unsigned max)
{
    unsigned log2 = min;

    while (log2 < max && ((size_t) 1 << log2) < n)
        log2++;
    return log2;
}

static void set_bit(struct literals *l, uint32_t hash)
{
    uint32_t bit = hash >> l->bit_shift;

    l->bits[bit / 64] |= UINT64_C(1) << bit % 64;
}

static unsigned short_bit(uint64_t word)
{
    return (uint32_t) (word & 0xffffff) * GRAM_FACTOR >> 20;
}

static bool has_short_bit(const struct literals *l, uint64_t word)
{
    return l->short_bits[short_bit(word) / 64] >> short_bit(word) % 64 & 1;
}

static void fill_entry(const struct literals *l, size_t id, uint32_t gram, struct entry *e)
{
    size_t n = MIN(sizeof(e->word), l->items[id].len - gram);

    *e = (struct entry){.id = (uint32_t) id, .gram = gram};
    memset(&e->mask, 0xff, n);
    e->word = gram_word(text_of(l, id) + gram, n) & e->mask;
}

static void fill_filter(struct filter *f, uint64_t word, size_t n)
{
    if (n >= GRAM_BYTES + 4)
        f->four |= UINT32_C(1) << gram_sum_of_four(word);
    else if (n >= GRAM_BYTES + 2)
        f->two |= UINT32_C(1) << gram_sum_of_two(word);
    else
        f->two = UINT32_MAX;
}

static uint32_t passes(const struct filter *f, uint64_t word)
{
    return f->four >> gram_sum_of_four(word) | f->two >> gram_sum_of_two(word);
}

/* Chooses every literal's first gram, counting into `loads` how many entries each slot will have. */
static void choose_grams(struct literals *l, uint32_t *grams, uint32_t *loads)
{
    for (size_t i = 0; i < l->n; i++) {
        const struct literal *literal = &l->items[i];
        const char *gram;

        if (!literal->wanted)
            continue;
        grams[i] = gram_choose(text_of(l, i), literal->len, loads, l->slot_shift);
        gram = text_of(l, i) + grams[i];
        loads[gram_hash(gram) >> l->slot_shift]++;
        l->n_entries += 2;
        l->short_entries++;
        if (literal->len == GRAM_BYTES)
            continue;
        loads[gram_hash(gram + 1) >> l->slot_shift]++;
        l->short_entries++;
    }
}

static void enter(struct literals *l, size_t id, uint32_t gram)
{
    uint32_t hash = gram_hash(text_of(l, id) + gram), slot = hash >> l->slot_shift;
    struct entry *e = &l->entries[--l->slots[slot]];

    set_bit(l, hash);
    fill_entry(l, id, gram, e);
    fill_filter(&l->filters[slot], e->word, l->items[id].len - gram);
}

/* A literal of four bytes at an odd position shows the last three of them at the next even one. */
static void enter_short(struct literals *l, size_t id, size_t at)
{
    char gram[GRAM_BYTES];

    memcpy(gram, text_of(l, id) + 1, GRAM_BYTES - 1);
    for (unsigned c = 0; c < 256; c++) {
        gram[GRAM_BYTES - 1] = (char) c;
        set_bit(l, gram_hash(gram));
    }
    fill_entry(l, id, 1, &l->entries[at]);
    l->short_bits[short_bit(l->entries[at].word) / 64] |= UINT64_C(1) << short_bit(l->entries[at].word) % 64;
}

static void enter_all(struct literals *l, const uint32_t *grams)
{
    size_t short_one = l->short_entries;

    for (size_t i = 0; i < l->n; i++) {
        if (!l->items[i].wanted)
            continue;
        enter(l, i, grams[i]);
        if (l->items[i].len == GRAM_BYTES)
            enter_short(l, i, short_one++);
        else
            enter(l, i, grams[i] + 1);
    }
}

static int make_tables(struct literals *l)
{
    unsigned log2_bits = log2_at_least(l->n_entries * BITS_PER_ENTRY, MIN_LOG2_BITS, MAX_LOG2_BITS);

    l->bit_shift = 32 - log2_bits;
    l->bits = calloc(((size_t) 1 << log2_bits) / 64, sizeof(*l->bits));
    l->entries = calloc(l->n_entries + 1, sizeof(*l->entries));
    return l->bits && l->entries ? 0 : -ENOMEM;
}

int literals_finish(struct literals *l)
{
    unsigned log2_slots = log2_at_least(2 * l->n, 4, MAX_LOG2_SLOTS);
    size_t n_slots = (size_t) 1 << log2_slots;
    _cleanup_free_ uint32_t *grams = calloc(l->n + 1, sizeof(*grams));

    free(l->slots);
    l->slots = calloc(n_slots + 1, sizeof(*l->slots));
    l->filters = calloc(n_slots, sizeof(*l->filters));
    l->found = calloc(l->n + 1, sizeof(*l->found));
    if (!grams || !l->slots || !l->filters || !l->found)
        return -ENOMEM;
    l->slot_shift = 32 - log2_slots;
    choose_grams(l, grams, l->slots);
    if (make_tables(l) < 0)
        return -ENOMEM;
    /* Each count becomes the end of its slot's entries, and then, filled downwards, their beginning. */
    for (size_t i = 1; i <= n_slots; i++)
        l->slots[i] += l->slots[i - 1];
    enter_all(l, grams);
    return 0;
}

size_t literals_count(const struct literals *l)
{
    return l->n;
}

static bool equal(const struct literals *l, size_t at, size_t id)
{
    const char *text = l->text + at, *literal = text_of(l, id);

    for (size_t i = 0; literal[i] != '\0'; i++) {
        if (ascii_lower(text[i]) != literal[i])
            return false;
    }
    return true;
}

/* One of the entries may be that of a literal whose gram stands at i, where `word` does. */
static void look(struct literals *l, size_t from, size_t to, size_t i, uint64_t word)
{
    for (const struct entry *e = &l->entries[from]; e < &l->entries[to]; e++) {
        struct literal *literal;
        size_t at = i - e->gram;

        if ((word & e->mask) != e->word || i < e->gram)
            continue;
        literal = &l->items[e->id];
        if (literal->at != NOWHERE || at + literal->len > l->len || !equal(l, at, e->id))
            continue;
        literal->at = (uint32_t) at;
        l->found[l->n_found++] = e->id;
    }
}

static void look_at(struct literals *l, size_t i)
{
    const uint32_t *slot = &l->slots[gram_hash(l->text + i) >> l->slot_shift];
    uint64_t word = gram_word(l->text + i, l->len - i);

    look(l, slot[0], slot[1], i, word);
    if (has_short_bit(l, word))
        look(l, l->short_entries, l->n_entries, i, word);
}

static uint64_t meets(const struct literals *l, uint32_t gram)
{
    uint32_t bit = gram_hash_of(gram) >> l->bit_shift;

    return l->bits[bit / 64] >> bit % 64 & 1;
}

/* A bit for each of four positions, every second one, from two loads. */
static uint64_t four_meetings(const struct literals *l, const char *text)
{
    uint64_t word;
    uint32_t last;

    memcpy(&word, text, sizeof(word));
    memcpy(&last, text + 6, sizeof(last));
    return meets(l, (uint32_t) word) | meets(l, (uint32_t) (word >> 16)) << 1 | meets(l, (uint32_t) (word >> 32)) << 2 |
        meets(l, last) << 3;
}

/* A bit for every second of the positions from text to text + n at which some gram may stand. Without a
 * branch, since chance meetings are as frequent as they are unpredictable. Two more bytes must be there. */
static uint64_t meetings(const struct literals *l, const char *text, size_t n)
{
    uint64_t found = 0;
    size_t i = 0;

    for (; i + 8 <= n; i += 8)
        found |= four_meetings(l, text + i) << i / 2;
    for (; i < n; i += 2) {
        uint32_t gram;

        memcpy(&gram, text + i, sizeof(gram));
        found |= meets(l, gram) << i / 2;
    }
    return found;
}

/* Of those positions, from `at` on, the ones that the filters let pass, again without a branch. Returns how
 * many. */
static size_t sift(const struct literals *l, uint64_t found, size_t at, uint32_t passed[BLOCK / 2])
{
    size_t n = 0;

    for (; found != 0; found &= found - 1) {
        size_t i = at + 2 * (size_t) __builtin_ctzll(found);
        uint32_t slot = gram_hash(l->text + i) >> l->slot_shift;
        uint64_t word = gram_word(l->text + i, l->len - i);

        passed[n] = (uint32_t) i;
        n += (passes(&l->filters[slot], word) & 1) | has_short_bit(l, word);
    }
    return n;
}

static void begin_scan(struct literals *l, const char *text, size_t len)
{
    for (size_t i = 0; i < l->n_found; i++)
        l->items[l->found[i]].at = NOWHERE;
    l->n_found = 0;
    l->text = text;
    l->len = len;
    l->scans++;
    l->lookups_left = LOOKUPS_MAX;
}

size_t literals_scan(struct literals *l, const char *text, size_t len, const size_t **ret)
{
    size_t end;
    uint32_t passed[BLOCK / 2] = {0};

    len = MIN(len, (size_t) NOWHERE - 1);
    end = len - MIN(len, GRAM_BYTES - 2);
    begin_scan(l, text, len);
    for (size_t i = 0; i < end; i += BLOCK) {
        uint64_t found = meetings(l, text + i, MIN(BLOCK, end - i));
        size_t n = sift(l, found, i, passed);

        for (size_t k = 0; k < n; k++)
            look_at(l, passed[k]);
    }
    *ret = l->found;
    return l->n_found;
}

/* Where c stands in the text at `from` or later; NONE. */
static size_t find_char(const struct literals *l, char c, size_t from)
{
    const char *at = from < l->len ? memchr(l->text + from, c, l->len - from) : NULL;

    return at ? (size_t) (at - l->text) : NONE;
}

/* Where a literal occurs at `from` or later; NONE. Its rarest byte leads to it. */
static size_t find_from(const struct literals *l, size_t id, size_t from)
{
    const struct literal *literal = &l->items[id];
    char pivot = text_of(l, id)[literal->pivot], capital = ascii_upper(pivot);
    size_t small = find_char(l, pivot, from + literal->pivot);
    size_t large = capital == pivot ? NONE : find_char(l, capital, from + literal->pivot);

    for (;;) {
        size_t at = MIN(small, large), begin = at - literal->pivot;

        if (at == NONE || begin + literal->len > l->len)
            return NONE;
        if (equal(l, begin, id))
            return begin;
        if (at == small)
            small = find_char(l, pivot, at + 1);
        else
            large = find_char(l, capital, at + 1);
    }
}

static void look_up(struct literals *l, size_t id)
{
    size_t at;

    if (l->lookups_left == 0)
        return;
    l->lookups_left--;
    at = find_from(l, id, 0);
    l->items[id].at = at == NONE ? NOWHERE : (uint32_t) at;
    l->items[id].asked = l->scans;
}

bool literals_found(struct literals *l, size_t id, size_t *ret_at)
{
    struct literal *literal = &l->items[id];

    if (!literal->wanted && literal->asked != l->scans)
        look_up(l, id);
    if (literal->at == NOWHERE || (!literal->wanted && literal->asked != l->scans))
        return false;
    *ret_at = literal->at;
    return true;
}

bool literals_find_next(const struct literals *l, size_t id, size_t *at)
{
    size_t next = find_from(l, id, *at + 1);

    if (next != NONE)
        *at = next;
    return next != NONE;
}
