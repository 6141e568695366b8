#!/usr/bin/env python3
"""Statistics of expert choices: popularity, reuse from token to token, cache hit rates.

Input: lines "position layer e1 e2 ..." as written by  peer_bench --trace.  Needs numpy.
    expert_trace.py TRACE --experts N [--from P] [--json]

Reported as the mean over layers:
  zipf        exponent fitted to the popularity by rank (upper half of the ranks)
  top share   share of all choices that falls on the most popular 10, 25 and 50 percent of experts
  overlap     share of the experts of a token that were also chosen by the token before
  hit rate    per-layer caches that hold 1/8, 1/4, 1/2 and 3/4 of the experts: least recently used,
              and "static" = the most popular ones fixed (the best fixed choice for this trace).
              Every expert is used once before hits are counted only if the trace is long enough;
              first uses count as misses.
"""
import argparse
import json
import sys
from collections import OrderedDict

try:
    import numpy as np
except ImportError:
    sys.exit("expert_trace.py needs numpy; on Debian: apt-get install python3-numpy, then /usr/bin/python3 tools/expert_trace.py")


def load(path, start):
    layers = {}
    with open(path) as f:
        for line in f:
            v = [int(x) for x in line.split()]
            if len(v) > 2 and v[0] >= start:
                layers.setdefault(v[1], {})[v[0]] = v[2:]
    return {k: [d[p] for p in sorted(d)] for k, d in sorted(layers.items())}


def lru(seq, size):
    cache, hit, n = OrderedDict(), 0, 0
    for token in seq:
        for e in token:
            n += 1
            if e in cache:
                hit += 1
                cache.move_to_end(e)
            else:
                cache[e] = 1
                if len(cache) > size:
                    cache.popitem(last=False)
    return hit / n


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("trace")
    ap.add_argument("--experts", type=int, required=True)
    ap.add_argument("--from", dest="start", type=int, default=0, help="ignore positions before this one")
    ap.add_argument("--json", action="store_true")
    a = ap.parse_args()
    layers = load(a.trace, a.start)
    if not layers:
        sys.exit("no expert choices in " + a.trace)
    longest = max(len(s) for s in layers.values())
    layers = {k: s for k, s in layers.items() if 2 * len(s) >= longest}   # layers seen for a few tokens only
    n = a.experts
    rows = []
    for seq in layers.values():
        k = len(seq[0])
        cnt = np.bincount(np.array([e for t in seq for e in t]), minlength=n).astype(float)
        order = -np.sort(-cnt)
        top = order[:max(2, n // 2)]
        top = top[top > 0]
        zipf = -np.polyfit(np.log(np.arange(1, len(top) + 1)), np.log(top), 1)[0]
        over = np.mean([len(set(x) & set(y)) / k for x, y in zip(seq, seq[1:])]) if len(seq) > 1 else 0
        row = [zipf] + [order[:max(1, int(round(n * s)))].sum() / cnt.sum() for s in (.1, .25, .5)] + [over]
        for s in (.125, .25, .5, .75):
            c = max(k, int(round(n * s)))
            row += [lru(seq, c), order[:c].sum() / cnt.sum()]
        rows.append(row)
    m = np.mean(rows, axis=0)
    names = ["zipf", "top10", "top25", "top50", "overlap", "lru12", "static12", "lru25", "static25", "lru50",
             "static50", "lru75", "static75"]
    out = {k: round(float(v), 4) for k, v in zip(names, m)}
    out["layers"], out["tokens"] = len(layers), len(next(iter(layers.values())))
    out["overlap_if_independent"] = round(float(np.mean([
        (np.bincount(np.array([e for t in s for e in t]), minlength=n) / len(s)) ** 2 for s in layers.values()]) * n /
        len(next(iter(layers.values()))[0])), 4)
    if a.json:
        print(json.dumps(out))
    else:
        print("%d layers, %d tokens; Zipf exponent %.2f; top 10/25/50%% of experts get %.2f/%.2f/%.2f of the choices" % (
            out["layers"], out["tokens"], out["zipf"], out["top10"], out["top25"], out["top50"]))
        print("overlap with the token before %.3f (independent tokens would give %.3f)" % (
            out["overlap"], out["overlap_if_independent"]))
        print("cache of   12.5%%   25%%    50%%    75%%\n   LRU     %.3f  %.3f  %.3f  %.3f\n   static  %.3f  %.3f  %.3f  %.3f" % (
            out["lru12"], out["lru25"], out["lru50"], out["lru75"],
            out["static12"], out["static25"], out["static50"], out["static75"]))


if __name__ == "__main__":
    main()
