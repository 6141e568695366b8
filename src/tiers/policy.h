// Which expert a full cache gives up, and whether a missed expert deserves its place. One interface for the
// cache that holds bytes (tiers/expert_cache.h) and for the replay of recorded routes (tiers/replay.h).
//
// Layers are numbered 0 .. n_layers-1 over the mixture layers alone. An expert of a layer fits any slot of
// that layer's size class; a victim is always of the class that is needed. Time is counted in steps of
// generated tokens: one token (of any number of sequences at once) is one unit. A long step, a chunk of a
// prompt that asks for most experts of every layer, takes a unit for each of its tokens, so that what is
// known of an expert afterwards is what it would be had the tokens come one by one.
//
// One visit of a layer by a step, in this order:
//   1. used()     once for every distinct expert that any token of the step chose, resident or not; in a
//                 long step for every choice, at its token's time
//   2. for each expert that is missing and for which no slot is free:
//      victim()   the slot to give up; then admits(): whether to do it. When not, the bytes
//                 are read to a place of passage, or computed where they lie, and forgotten.
//      dropped()  for the victim, placed() for the expert
// In a long step the victim is least_of() the layer itself: the other layers' turn in this step is still to
// come, or their experts were valued when it came.
// A slot with leases, and one that holds an expert of the current visit, is kept from victim() by
// `may_give_up`. A cache that must read a missed expert into a slot anyway may leave admits() out: the guard
// then saves nothing.
//
// Cost: used() O(1); victim() O(layers) and a scan of one layer's residents for each layer that changed since
// the last call, so one comparison per slot and step, and two where values age. Nothing is allocated after
// construction, nothing can fail. Owner: the thread that owns the cache.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/function_ref.h"

namespace ft {

struct PolicyShape {
    int n_layers = 0;
    int n_experts = 0;                     // of one layer
    int n_slots = 0;                       // slots are numbered 0 .. n_slots-1, over all classes
    std::vector<int> class_of_layer = {};  // [n_layers]; empty: one class
    std::vector<uint32_t> profile = {};  // [n_layers * n_experts] uses in earlier runs; empty: nothing known
};

struct PolicyOptions {
    double half_life = 16;  // tokens after which a use counts half (lfu; the middle one of three)
    bool learns = true;  // lfu weighs three memories (tiers/use_forecast.h); false: half_life is the only one
    bool guard = true;   // admits() compares (lfu, lfru, static); false: every missed expert enters
};

class EvictionPolicy {
 public:
    virtual ~EvictionPolicy() = default;

    // A token at `time` uses the expert. Times of a step start again for each layer, and those of a later
    // step are later.
    virtual void used(int layer, int expert, int64_t time) = 0;
    // The expert lies in the slot from now on; the slot was empty.
    virtual void placed(int layer, int expert, int slot) = 0;
    // The slot is empty, or taken out of service.
    virtual void dropped(int slot) = 0;
    // The slot to give up for an expert of `layer`; -1 where no resident expert of its class may be given up.
    virtual int victim(int layer, FunctionRef<bool(int slot)> may_give_up) = 0;
    // The slot of the layer's least valuable resident; -1: it has none.
    virtual int least_of(int layer) = 0;
    // Whether the expert, used() just now, should take the place of the victim that victim() or least_of()
    // just named.
    virtual bool admits(int layer, int expert, int victim) const = 0;
    virtual int n_resident(int layer) const = 0;
    // Uses of an expert so far, the profile's included: what a next run warms up with.
    virtual uint32_t uses(int layer, int expert) const = 0;
};

// Whether a visit is part of a long step: twice as many choices as the layer has experts, so that most of
// them are asked for, in the next layer as well.
inline bool is_long_visit(size_t n_choices, int n_expert) {
    return n_choices >= 2 * static_cast<size_t>(n_expert);
}

// A policy is a row in policies.cpp.
struct PolicyRow {
    const char* name;     // "lfu"
    const char* summary;  // a line for --help and documents
    std::unique_ptr<EvictionPolicy> (*make)(const PolicyShape&, const PolicyOptions&);
};

std::span<const PolicyRow> policies();
const PolicyRow* find_policy(std::string_view name);  // nullptr: no such row
extern const char* const k_default_policy;

}  // namespace ft
