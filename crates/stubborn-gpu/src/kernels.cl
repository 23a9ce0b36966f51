// Whole levels of a breadth-first search. WG work-items make a group, which has room for ROWS
// successors for each of them in local memory; see `search.rs` for the arguments.
//
// Barriers and atomics on local memory are all that work-items share: this runs on any vendor's
// card, and on CPUs. No work-item returns early, because all must come to every barrier.

// Counters of a level.
#define C_FOUND 0u      // states that were new
#define C_STEPS 1u      // successors
#define C_ENDS 2u       // states without any
#define C_INVALID 3u    // those of them that are no valid ends
#define C_FAILED 4u     // steps that failed
#define C_ERRORS 5u     // steps that hit the targets
#define C_ASSERTIONS 6u
#define C_NODES 7u      // nodes that were new
#define C_SUMS 8u       // so many of these are sums of what groups counted
#define C_FULL 8u       // the table had no room
#define C_NODES_FULL 9u
#define C_GAVE_UP 10u
#define C_HIT 11u       // targets that were hit, as bits
#define C_ESCAPED 12u   // a value did not fit
#define C_PUT_BACK 13u  // states that the proviso expands
#define C_EACH 16u

// A search stops at what it looks for; only what may be on an accepting cycle is kept.
#define STOP 1u
#define TRIM 2u
// The level was expanded before, for another region of the table: it was counted then.
#define LATER 4u

#define TOP (1ul << 63)
#define NO_ROOM 2u
// Sectors of a table that are looked at for one key.
#define MOST_PROBES 512u
#define SEGMENT (ROWS - 1u)
#define STAGE (ROWS * WG)
#define FRESH (2u * WG)
#ifdef PROVISO
#define SYNC barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#else
#define SYNC barrier(CLK_LOCAL_MEM_FENCE)
#endif

static ulong scatter(ulong x) {
  x ^= x >> 32; x *= 0xd6e8feb86659fd93ul;
  x ^= x >> 32; x *= 0xd6e8feb86659fd93ul;
  return x ^ (x >> 32);
}

// Tables have sectors of four slots; a slot that is 0 is free. Sectors are spread over up to four
// buffers, because some drivers limit the size of one.
typedef struct {
  __global ulong* part0; __global ulong* part1; __global ulong* part2; __global ulong* part3;
  ulong each;     // sectors of a part
  ulong sectors;  // of all
  __global ulong* nodes;
  ulong node_sectors;
  uint node_bits; // of a number of a node
  uint key_bits;  // of a key of the table of states
  ulong from;     // the region that is served: keys that belong elsewhere are left for another time
  ulong span;
} Tables;

static __global ulong* sector(const Tables* t, ulong at) {
  __global ulong* part = t->part0;
  if (at >= 2 * t->each) {
    at -= 2 * t->each; part = t->part2;
    if (at >= t->each) { at -= t->each; part = t->part3; }
  } else if (at >= t->each) { at -= t->each; part = t->part1; }
  return part + 4 * at;
}

// Looks for a key in a sector, or puts it there; returns the slot, 4 if there is no room, and 8
// more if it is new. Slots are filled from the first on and never emptied, so that two
// work-items with one key meet.
#define TRY(v, j) if ((v) == 0) { \
    ulong old = atom_cmpxchg((volatile __global ulong*)(q + j), 0ul, key); \
    if (old == 0) return 8u + j; if (old == key) return j; }
static uint look(__global ulong* q, const ulong key) {
  ulong2 a = ((__global const ulong2*)q)[0], b = ((__global const ulong2*)q)[1];
  if (a.x == key) return 0;
  if (a.y == key) return 1;
  if (b.x == key) return 2;
  if (b.y == key) return 3;
  TRY(a.x, 0) TRY(a.y, 1) TRY(b.x, 2) TRY(b.y, 3)
  return 4;
}

// 1 if the key is new, 0 if not, or NO_ROOM.
#ifdef QUOTIENT
// Slots of 32 bits, eight a sector. A key of `bits` bits is shuffled one to one, and says by its place
// among all keys in which sector it belongs: key * sectors / 2^bits. What is left of the product, without as
// many low bits as differ for no two keys of a sector, tells the key. So slots hold whole keys, in half the
// space (D. E. Knuth, *The Art of Computer Programming*, volume 3, exercise 6.4-13; J. G. Cleary, *Compact hash
// tables using bidirectional linear probing*, 1984). Where a sector is full, the key is shuffled in another
// way, and the slot says by its number which way that was: neighbours of full sectors do not fill up, so that
// nine tenths of the table can be used.
static ulong shuffle_key(ulong x, const uint bits) {
  const ulong all = (1ul << bits) - 1ul;
  const uint middle = (bits + 1u) / 2u;
  x ^= x >> middle; x = x * 0xd6e8feb86659fd93ul & all;
  x ^= x >> middle; x = x * 0xd6e8feb86659fd93ul & all;
  return x ^ (x >> middle);
}

#define TRY_QUOTIENT(v, j) if ((v) == key) return j; if ((v) == 0) { \
    uint old = atomic_cmpxchg((volatile __global uint*)(q + j), 0u, key); \
    if (old == 0) return 16u + j; if (old == key) return j; }
static uint look_quotient(__global uint* q, const uint key) {
  uint4 a = ((__global const uint4*)q)[0], b = ((__global const uint4*)q)[1];
  if (a.x == key) return 0;
  if (a.y == key) return 1;
  if (a.z == key) return 2;
  if (a.w == key) return 3;
  if (b.x == key) return 4;
  if (b.y == key) return 5;
  if (b.z == key) return 6;
  if (b.w == key) return 7;
  TRY_QUOTIENT(a.x, 0) TRY_QUOTIENT(a.y, 1) TRY_QUOTIENT(a.z, 2) TRY_QUOTIENT(a.w, 3)
  TRY_QUOTIENT(b.x, 4) TRY_QUOTIENT(b.y, 5) TRY_QUOTIENT(b.z, 6) TRY_QUOTIENT(b.w, 7)
  return 8;
}

static uint insert(const Tables* t, const ulong key) {
  const uint bits = t->key_bits;
  const ulong all = (1ul << bits) - 1ul;
  ulong place = shuffle_key(key & all, bits);
  for (uint i = 0; i < (1u << STEP_BITS); i++) {
    const ulong low = place * t->sectors, high = mul_hi(place, t->sectors);
    const ulong at = high << (64u - bits) | low >> bits;
    if (i == 0u && at - t->from >= t->span) return 0u;
    const ulong left = (low & all) >> (63u - (uint)clz(t->sectors));
    uint found = look_quotient((__global uint*)sector(t, at), 0x80000000u | (uint)left << STEP_BITS | i);
    if (found != 8u) return found >> 4;
    place = (place ^ place >> (bits + 1u) / 2u) * 0x9e3779b97f4a7c15ul & all;
  }
  return NO_ROOM;
}
#else
static uint insert(const Tables* t, const ulong key) {
  ulong at = mul_hi(scatter(key), t->sectors);
  if (at - t->from >= t->span) return 0u;
  for (uint i = 0; i < MOST_PROBES; i++) {
    uint found = look(sector(t, at), key);
    if (found != 4u) return found >> 3;
    at = at + 1 == t->sectors ? 0 : at + 1;
  }
  return NO_ROOM;
}
#endif

#if W > 1
// The number of a node: that of its slot.
static uint node(const Tables* t, const ulong key, uint* nodes, uint* trouble) {
  ulong at = mul_hi(scatter(key), t->node_sectors);
  for (uint i = 0; i < MOST_PROBES; i++) {
    uint found = look(t->nodes + 4 * at, key);
    if (found != 4u) { *nodes += found >> 3; return (uint)(4 * at) + (found & 3u); }
    at = at + 1 == t->node_sectors ? 0 : at + 1;
  }
  *trouble = 1;
  return 0;
}
#endif

// A state of several words is a tree: its words are nodes, pairs of numbers of nodes are nodes,
// and the last pair is the key.
static uint insert_state(const Tables* t, const State* x, uint* nodes, uint* trouble) {
#if W == 1
  return insert(t, TOP | x->w[0]);
#else
  uint id[W];
#if W <= 8
#pragma unroll
#endif
  for (uint k = 0; k < W; k++) id[k] = node(t, TOP | x->w[k], nodes, trouble);
  uint left = W;
#if W <= 8
#pragma unroll
#endif
  while (left > 2) {
    uint to = 0;
    for (uint k = 0; k + 1 < left; k += 2) id[to++] = node(t, TOP | (ulong)id[k] << t->node_bits | id[k + 1], nodes, trouble);
    if (left & 1u) id[to++] = id[left - 1];
    left = to;
  }
  return *trouble ? NO_ROOM : insert(t, TOP | (ulong)id[0] << t->node_bits | id[1]);
#endif
}

__kernel void clear(__global ulong2* table, const ulong pairs) {
  for (ulong i = get_global_id(0); i < pairs; i += get_global_size(0)) table[i] = (ulong2)(0ul, 0ul);
}

#define TABLE_PARAMETERS __global ulong* part0, __global ulong* part1, __global ulong* part2, \
  __global ulong* part3, const ulong each, const ulong sectors, __global ulong* nodes, const ulong node_sectors, \
  const uint node_bits, const uint key_bits, const ulong from, const ulong span
#define TABLES Tables t; t.part0 = part0; t.part1 = part1; t.part2 = part2; t.part3 = part3; \
  t.each = each; t.sectors = sectors; t.nodes = nodes; t.node_sectors = node_sectors; \
  t.node_bits = node_bits; t.key_bits = key_bits; t.from = from; t.span = span;

// Stores the first state of a queue.
__kernel void start(__global const ulong* queue, const ulong room, TABLE_PARAMETERS) {
  TABLES
  State s;
  uint added = 0, trouble = 0;
  for (uint k = 0; k < W; k++) s.w[k] = queue[k * room];
  insert_state(&t, &s, &added, &trouble);
}

#ifdef REDUCE
// Sets of commands.
typedef struct { ulong b[SET_WORDS]; } Set;
static bool has(const Set* a, const uint t) { return (a->b[t >> 6] >> (t & 63u) & 1ul) != 0; }
static void put(Set* a, const uint t) { a->b[t >> 6] |= 1ul << (t & 63u); }
static bool differ(const Set* a, const Set* b) {
  ulong d = 0;
  for (uint k = 0; k < SET_WORDS; k++) d |= a->b[k] ^ b->b[k];
  return d != 0;
}
// Takes the first element out; all commands if there is none.
static uint take(Set* a) {
  for (uint k = 0; k < SET_WORDS; k++) if (a->b[k] != 0) {
    const ulong low = a->b[k] & (~a->b[k] + 1ul);
    a->b[k] ^= low;
    return 64u * k + 63u - (uint)clz(low);
  }
  return COMMANDS;
}

// What is enabled; nothing may be left out where something fails, or may fail after its first step.
static uint look_around(const State* s, Set* enabled, bool* fails) {
  uint count = 0;
  bool outranked = false;
  for (uint k = 0; k < SET_WORDS; k++) enabled->b[k] = 0;
  for (uint r = 0; r < ROUNDS; r++) {
#ifdef NEW_CLASS
    if (NEW_CLASS(r) && count) outranked = true;
#endif
    if (!outranked) {
      State x;
      uint c = 0;
      const uint f = fire(r, s, &x, &c);
      if (f & DONE) {
        put(enabled, c);
        count++;
        if (((f >> FAILED) & 7u) != 0u || ((f >> VIOLATED) & 3u) != 0u || fails_later[c] != 0) *fails = true;
      }
    }
  }
  return count;
}

// The smallest set that is closed from an enabled command; see `sets.rs`.
static void stubborn_set(__global const ulong* rows, const State* s, const Set* enabled, const uint count, Set* kept) {
  Set starts = *enabled;
  uint best = count;
  *kept = *enabled;
  for (uint start = take(&starts); start < COMMANDS && best > 1u; start = take(&starts)) {
    Set set, work;
    for (uint k = 0; k < SET_WORDS; k++) { set.b[k] = 0; work.b[k] = 0; }
    put(&set, start); put(&work, start);
    uint size = 1;
    for (uint t = start; size < best && (t = take(&work)) < COMMANDS;) {
      __global const ulong* row = rows + t * SET_WORDS;
      if (!has(enabled, t)) {
        // The guard that costs least.
        uint least = 0xffffffffu;
        uint no = blocked(t, s);
        for (uint g = 0; no != 0; g++, no >>= 1) if (no & 1u) {
          __global const ulong* other = rows + (COMMANDS + guard_of[t * GUARDS + g]) * SET_WORDS;
          uint cost = 0;
          for (uint k = 0; k < SET_WORDS; k++) {
            const ulong more = other[k] & ~set.b[k];
            cost += 512u * (uint)popcount(more & enabled->b[k]) + (uint)popcount(more);
          }
          if (cost < least) { least = cost; row = other; }
        }
        if (least == 0xffffffffu) { size = best; row = rows; }
      }
      for (uint k = 0; k < SET_WORDS; k++) {
        const ulong more = row[k] & ~set.b[k];
        set.b[k] |= more; work.b[k] |= more;
        size += (uint)popcount(more & enabled->b[k]);
      }
    }
    if (size < best) {
      best = size;
      for (uint k = 0; k < SET_WORDS; k++) kept->b[k] = set.b[k] & enabled->b[k];
    }
  }
}
#endif

static uint outcome_hit(const uint violated, const uint failed) {
  return (violated == 1u || failed == 1u ? TARGET_ASSERTIONS : 0u)
       | (violated == 2u || failed == 2u ? TARGET_ERRORS : 0u);
}

#ifdef PROVISO
#define FROM(at) origin[at] = here;
#else
#define FROM(at)
#endif
#ifdef REDUCE
#define SET_PARAMETERS , __global const ulong* rows, __global uchar* flags, const uint phase
#else
#define SET_PARAMETERS
#endif
// What is to be done with a state: nothing was left out, something was, and one of its successors is
// in the next level.
#define WHOLE 0
#define REDUCED 1
#define LEADS_ON 2

#ifdef PRODUCT
// In a product with an automaton, each round of the system is made for every move of the automaton, and after
// them all, where the system has come to its end, the automaton moves alone.
#define ALL_ROUNDS ((ROUNDS + 1u) * MOVES)
#define ROUND(r) ((r) / MOVES)
#define WENT went++;
#else
#define ALL_ROUNDS ROUNDS
#define ROUND(r) (r)
#define WENT
#endif

#ifdef FIND
// Looks for the first state of a level that has a certain successor, and stores nothing.
#define PUT(x) { if (same(&(x), &wanted)) hit = 1u; }
#define ENDED(x, v, f) { if ((f) == 0u) { WENT PUT(x) } }
#else
#define PUT(x) { \
    uint at = atomic_inc(&staged); \
    for (uint k = 0; k < W; k++) stage[k * STAGE + at] = (x).w[k]; \
    FROM(at) }
// A way of a step ended: it counts, and is staged if it ends in a state.
#define ENDED(x, v, f) { \
    steps++; \
    if ((v) | (f)) { \
      uint h = outcome_hit(v, f); hit |= h; \
      errors += (v) == 2u || (f) == 2u; assertions += (v) == 1u || (f) == 1u; \
    } \
    if (f) failures++; else { WENT PUT(x) } }
#endif

__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void level(__global const ulong* in, __global ulong* out, const ulong room,
           __global ulong* counts, const uint number, const uint stop,
           __global ulong* hits, const ulong depth, TABLE_PARAMETERS SET_PARAMETERS) {
  __local ulong stage[W * STAGE];
  __local ulong fresh[W * FRESH];
#ifdef PROVISO
  __local uint origin[STAGE];
#endif
  __local ulong place;
  __local uint staged, news, quit, busy;
  __local uint sums[C_SUMS];
  TABLES
#ifdef FIND
  State wanted;
  for (uint k = 0; k < W; k++) wanted.w[k] = hits[k];
#endif
  const uint lid = get_local_id(0);
  __global const ulong* now = counts + C_EACH * number;
  __global ulong* next = counts + C_EACH * (number + 1u);
  // After trouble, or after what was looked for was found, nothing more is done.
  const bool over = (now[C_FULL] | now[C_NODES_FULL] | now[C_GAVE_UP] | now[C_ESCAPED]) != 0 || now[C_FOUND] > room || ((stop & STOP) && now[C_HIT] != 0);
  const uint n = over ? 0u : (uint)now[C_FOUND];
  if (lid < C_SUMS) sums[lid] = 0;
  if (lid == 0) { staged = 0; news = 0; quit = 0; busy = 0; }
  SYNC;
  uint steps = 0, ends = 0, invalid = 0, failures = 0, errors = 0, assertions = 0, added = 0;
  const uint stride = get_num_groups(0) * WG;
  uint base = get_group_id(0) * WG;
  bool more;
  // Also groups without any state go round once: pocl mistakes a loop around barriers that is
  // not entered.
  do {
    const uint here = base + lid;
#ifdef PROVISO
    // The second time, those that got nowhere.
    const bool mine = here < n && (phase == 0u || flags[here < n ? here : 0u] == REDUCED);
#else
    const bool mine = here < n;
#endif
    State s;
    for (uint k = 0; k < W; k++) s.w[k] = in[k * room + (mine ? here : 0u)];
    more = base < n && n - base > stride;
    base += stride;
    // Trouble elsewhere: what is done here is in vain.
    if (lid == 0) quit = ((volatile __global ulong*)next)[C_FULL] != 0 || ((volatile __global ulong*)next)[C_NODES_FULL] != 0
      || ((volatile __global ulong*)next)[C_GAVE_UP] != 0 || ((volatile __global ulong*)next)[C_ESCAPED] != 0 || ((volatile __global ulong*)next)[C_FOUND] > room;
    uint fired = 0, hit = 0, trouble = 0;
    bool outranked = !mine;
    uint r = 0;
    bool again = true;
#ifdef PRODUCT
    uint went = 0;
    const ulong ahead = mine ? moves(&s) & (stop & TRIM ? ACCEPTING : ~0ul) : 0ul;
#endif
#ifdef REDUCE
    Set enabled, kept;
    bool fails = false;
    for (uint k = 0; k < SET_WORDS; k++) kept.b[k] = 0;
    if (mine) {
      const uint count = look_around(&s, &enabled, &fails);
      kept = enabled;
      if (!fails && count > 1u) stubborn_set(rows, &s, &enabled, count, &kept);
#ifdef PROVISO
      if (phase == 0u) flags[here] = differ(&kept, &enabled) ? REDUCED : WHOLE;
      else {
        for (uint k = 0; k < SET_WORDS; k++) kept.b[k] = enabled.b[k] & ~kept.b[k];
        atom_inc((volatile __global ulong*)(next + C_PUT_BACK));
      }
#endif
    }
#endif
#ifdef CHAINS
    // Where this work-item is in a chain: following one way, or back at a split.
    #define IDLE 0u
    #define FOLLOW 1u
    #define BACK 2u
    uint mode = IDLE, who = 0, viol = 0, repeats = 0, taken = 0, stretch = 0, rounds = 0, marked = 0, splits = 0;
    State y, mark;
    State split_state[SPLITS];
    uint split_who[SPLITS], split_viol[SPLITS], split_next[SPLITS], split_stretch[SPLITS], split_back[SPLITS], split_ended[SPLITS];
    #define NOTE_END { if (splits) split_ended[splits - 1] = 1u; mode = splits ? BACK : IDLE; }
    #define NOTE_CUT(b) { if (splits) split_back[splits - 1] = min(split_back[splits - 1], (uint)(b)); mode = splits ? BACK : IDLE; }
    #define TAKE(x, f) { \
        uint v = viol ? viol : ((f) >> VIOLATED) & 3u, bad = ((f) >> FAILED) & 7u; \
        if (bad >= GAVE_UP) { trouble = bad; mode = IDLE; } \
        else if (bad != 0u || ((f) >> NEXT) == 0u) { ENDED(x, v, bad) NOTE_END } \
        else { y = (x); who = ((f) >> NEXT) - 1u; viol = v; mode = FOLLOW; } }
#endif
    while (again) {
#ifdef CHAINS
      // Nobody goes on with the next rounds before all chains are at their ends.
      const bool chained = busy != 0;
      SYNC;
      if (lid == 0) busy = 0;
      SYNC;
      if (chained) {
        for (uint tick = 0; tick < SEGMENT && mode != IDLE; tick++) {
          if (mode == FOLLOW) {
            State a, b;
            uint able = 0, fa = 0, which = 0;
            for (uint c = 0; c < chain_rounds[who] && able < 2u; c++) {
              uint f = chain_fire(who, c, &y, &b, &which);
              if (f & DONE) { if (able == 0) { a = b; fa = f; } able++; }
            }
            if (able == 0) {
              ENDED(y, viol, 0u) NOTE_END
            } else if (able == 1u) {
              bool back = false;
              if (repeats) {
                rounds++;
                if ((rounds & (rounds - 1u)) == 0) { mark = y; marked = who; }
                else back = marked == who && same(&mark, &y);
              }
              if (back) { ENDED(y, viol, 2u) NOTE_END }
              else if (taken > MOST_ROUNDS || (splits && taken > (repeats ? LONG_CHAIN : LONG_WAYS))) { trouble = GAVE_UP; mode = IDLE; }
              else { taken++; TAKE(a, fa) }
            } else {
              uint known = splits;
              if (repeats) for (uint i = 0; i < splits; i++)
                if (split_who[i] == who && split_viol[i] == viol && same(&split_state[i], &y)) known = i;
              if (known < splits) { NOTE_CUT(split_stretch[known]) }
              else if (splits == SPLITS || taken > (repeats ? LONG_CHAIN : LONG_WAYS)) { trouble = GAVE_UP; mode = IDLE; }
              else {
                split_state[splits] = y; split_who[splits] = who; split_viol[splits] = viol; split_next[splits] = 0;
                split_stretch[splits] = stretch; split_back[splits] = 0xffffffffu; split_ended[splits] = 0;
                splits++; mode = BACK;
              }
            }
          } else {
            const uint top = splits - 1u;
            State b;
            uint f = 0, c = split_next[top], which = 0;
            while (c < chain_rounds[split_who[top]] && !(f & DONE)) f = chain_fire(split_who[top], c++, &split_state[top], &b, &which);
            if (f & DONE) {
              split_next[top] = c; viol = split_viol[top]; stretch++; rounds = 0; taken++;
              TAKE(b, f)
            } else {
              splits--;
              if (split_ended[top]) { NOTE_END }
              else if (split_back[top] >= split_stretch[top]) { ENDED(y, split_viol[top], 2u) NOTE_END }
              else { NOTE_CUT(split_back[top]) }
            }
          }
        }
      } else
#endif
      {
        bool pause = false;
        for (uint i = 0; i < SEGMENT && r < ALL_ROUNDS && !pause; i++, r++) {
#ifdef NEW_CLASS
#ifdef PRODUCT
          if (r % MOVES == 0u && NEW_CLASS(ROUND(r)) && fired) outranked = true;
#else
          if (NEW_CLASS(r) && fired) outranked = true;
#endif
#endif
#ifdef CHAINS
          pause = chain_round[ROUND(r)] != 0;
#endif
#ifdef PRODUCT
          ulong move = ahead;
          for (uint k = r % MOVES; k > 0u; k--) move &= move - 1ul;
          if (move != 0ul && ROUND(r) == ROUNDS) {
            if (STUTTERS && went == 0u) { State x = s; set_watcher(&x, 63u - (uint)clz(move & (~move + 1ul))); steps++; PUT(x) }
          } else if (move != 0ul && !outranked) {
#else
          if (!outranked) {
#endif
            State x;
            uint c = 0;
            uint f = fire(ROUND(r), &s, &x, &c);
            if (f & DONE) {
#ifdef PRODUCT
              set_watcher(&x, 63u - (uint)clz(move & (~move + 1ul)));
#endif
              uint v = (f >> VIOLATED) & 3u, bad = (f >> FAILED) & 7u;
              fired++;
              if (bad >= GAVE_UP) trouble = bad;
#ifdef REDUCE
              else if (!has(&kept, c)) {}
#endif
#ifdef CHAINS
              else if (bad == 0u && (f >> NEXT) != 0u) {
                y = x; who = (f >> NEXT) - 1u; viol = v; repeats = (f >> REPEATS) & 1u; mode = FOLLOW;
                taken = 0; stretch = 0; rounds = 0; splits = 0;
              }
#endif
              else ENDED(x, v, bad)
            }
          }
        }
      }
#ifdef CHAINS
      if (mode != IDLE) atomic_inc(&busy);
#endif
      // Successors are stored when there are enough for the whole group, or no more to come.
      SYNC;
      uint c = staged, m = news;
      const uint in_vain = quit;
      again = r < ALL_ROUNDS;
#ifdef CHAINS
      again = again || busy != 0;
#endif
      const bool last = !more && !again;
      SYNC;
      while (!in_vain && (c >= WG || (last && (c > 0 || m > 0)))) {
        const uint some = c < WG ? c : WG;
        c -= some;
        State x;
        uint z = 0, bad = 0;
        if (lid < some) {
          for (uint k = 0; k < W; k++) x.w[k] = stage[k * STAGE + c + lid];
          z = insert_state(&t, &x, &added, &bad);
        }
        if (z == NO_ROOM) atom_inc((volatile __global ulong*)(next + (bad ? C_NODES_FULL : C_FULL)));
        if (z == 1u) {
#ifdef PROVISO
          flags[origin[c + lid]] = LEADS_ON;
#endif
          uint at = atomic_inc(&news);
          for (uint k = 0; k < W; k++) fresh[k * FRESH + at] = x.w[k];
        }
        SYNC;
        m = news;
        const bool write = m >= WG || (last && c == 0 && m > 0);
        if (lid == 0 && write) place = atom_add((volatile __global ulong*)(next + C_FOUND), (ulong)m);
        SYNC;
        if (write) {
          const ulong to = place;
          for (uint i = lid; i < m; i += WG) if (to + i < room)
            for (uint k = 0; k < W; k++) out[k * room + to + i] = fresh[k * FRESH + i];
          if (lid == 0) news = 0;
          m = 0;
        }
        SYNC;
      }
      if (lid == 0) staged = in_vain ? 0u : c;
      SYNC;
    }
#ifdef FIND
    if (mine && hit) atomic_min((volatile __global uint*)(next + C_HIT), here);
#else
#ifdef PROVISO
    const bool first_time = phase == 0u;
#else
    const bool first_time = true;
#endif
    if (mine) {
      if (fired == 0) {
        const bool valid = valid_end(&s) != 0;
        ends++; invalid += !valid;
        hit |= TARGET_DEADLOCK | (valid ? 0u : TARGET_INVALID_END);
      }
#if TARGETS > 0
      if (first_time) hit |= labels_hit(&s);
      if (hit && !(stop & LATER)) {
        atomic_or((volatile __global uint*)(next + C_HIT), hit);
        for (uint k = 0; k < TARGETS; k++) if (hit >> k & 1u) {
          // The first states of each target are kept: how many, and then depth and words of each.
          __global ulong* kept = hits + k * (1u + KEPT * (1u + W));
          const ulong at = atom_inc((volatile __global ulong*)kept);
          if (at < KEPT) {
            __global ulong* entry = kept + 1u + at * (1u + W);
            entry[0] = depth;
            for (uint w = 0; w < W; w++) entry[1u + w] = s.w[w];
          }
        }
      }
#endif
      if (trouble) atom_inc((volatile __global ulong*)(next + (trouble == ESCAPED ? C_ESCAPED : C_GAVE_UP)));
    }
#endif
  } while (more);
  if (stop & LATER) { steps = 0; ends = 0; invalid = 0; failures = 0; errors = 0; assertions = 0; }
  SYNC;
  atomic_add(&sums[C_STEPS], steps);
  atomic_add(&sums[C_ENDS], ends);
  atomic_add(&sums[C_INVALID], invalid);
  atomic_add(&sums[C_FAILED], failures);
  atomic_add(&sums[C_ERRORS], errors);
  atomic_add(&sums[C_ASSERTIONS], assertions);
  atomic_add(&sums[C_NODES], added);
  SYNC;
  if (lid > 0 && lid < C_SUMS && sums[lid] != 0) atom_add((volatile __global ulong*)(next + lid), (ulong)sums[lid]);
}

#ifdef PRODUCT
// Copies states of a queue: those that may be on an accepting cycle, or where a certain one is.
#define SIFT_ACCEPTING 0u
#define SIFT_WANTED 1u
__kernel void sift(__global const ulong* in, const ulong room, __global const ulong* counts, const uint number,
                   const uint what, const ulong depth, __global ulong* found, __global const ulong* wanted,
                   __global ulong* out, const ulong out_room) {
  const ulong n = min(counts[C_EACH * number + C_FOUND], room);
  for (ulong i = get_global_id(0); i < n; i += get_global_size(0)) {
    State s;
    for (uint k = 0; k < W; k++) s.w[k] = in[k * room + i];
    if (what == SIFT_ACCEPTING) {
      if (ACCEPTING >> watcher(&s) & 1ul) {
        const ulong at = atom_inc((volatile __global ulong*)found);
        if (at < out_room) for (uint k = 0; k < W; k++) out[k * out_room + at] = s.w[k];
      }
    } else {
      bool is_it = true;
      for (uint k = 0; k < W; k++) is_it = is_it && s.w[k] == wanted[k];
      if (is_it) { found[0] = 1; found[1] = depth; }
    }
  }
}
#endif
