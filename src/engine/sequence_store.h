// The memory of running sequences: their pages from one pool, the state of their recurrent layers, and what
// is kept of earlier ones (kv/prefix_tree.h). Owner: the engine's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "kv/page_pool.h"
#include "kv/prefix_tree.h"
#include "model/ops.h"

namespace ft {

struct StoreOptions {
    int64_t n_page = 0;  // of the pool
    int n_sequence = 1;  // that run at once
    PrefixBudget prefix;
    int64_t window = 0;          // tokens that a token sees; 0: all
    int64_t sinks = 0;           // the first ones, which it always sees
    int64_t sequence_pages = 0;  // with a window: as many as a sequence holds at most (tiers/plan.h)
};

class SequenceStore {
 public:
    static Expected<std::unique_ptr<SequenceStore>> create(const KvShape& kv, const RecurrentShape& state,
                                                           const StoreOptions& options);

    struct Sequence {
        SequenceMemory memory;
        int64_t n_past = 0;      // of its ids, from what was kept
        int64_t n_promised = 0;  // with a window: pages that it may hold at once
    };
    // A sequence that holds the longest kept beginning of `ids` (their last one is always left to feed), and
    // pages for n_position positions. Nothing: the pool has not enough of them now.
    // With a window a sequence that goes on for long holds no more than sequence_pages at once, so that is
    // what it is promised: it takes them by grow() as it comes to them, and there is always one for it. What
    // it shares counts in full, because it gives that back before others do.
    std::unique_ptr<Sequence> start(std::span<const int32_t> ids, int64_t n_position);
    // The same without a kept beginning: what it holds comes from elsewhere.
    std::unique_ptr<Sequence> start_empty(int64_t n_position);
    // Pages for positions before n_position, in place of those that its window has moved on from; false where
    // the pool has none.
    bool grow(Sequence& sequence, int64_t n_position);
    // Gives the pages back. `ids` were fed: they are kept for others.
    void finish(std::unique_ptr<Sequence> sequence, std::span<const int32_t> ids);
    void drop(std::unique_ptr<Sequence> sequence);  // keeps nothing

    // Keeps ids that were fed while their sequence goes on. with_state: with a checkpoint, where there are
    // recurrent layers.
    void keep(const Sequence& sequence, std::span<const int32_t> ids, bool with_state);
    PrefixTree::Pin keep_pinned(const Sequence& sequence, std::span<const int32_t> ids);

    bool recurrent() const { return recurrent_; }
    PrefixTree& tree() { return tree_; }
    const PrefixTree& tree() const { return tree_; }
    PagePool& pool() { return *pool_; }
    const PagePool& pool() const { return *pool_; }

 private:
    std::unique_ptr<Sequence> begin(const PrefixMatch& match, int64_t n_position);
    bool give_pages(const PrefixMatch& match, int64_t n_position, KvSequence& kv);
    SequenceStore(std::unique_ptr<PagePool> pool, const RecurrentShape& state, const StoreOptions& options);

    std::unique_ptr<PagePool> pool_;
    const StoreOptions options_;
    const bool recurrent_;
    PrefixTree tree_;
    int64_t n_promised_ = 0;  // of all sequences
    std::vector<RecurrentState> idle_states_;
};

}  // namespace ft
