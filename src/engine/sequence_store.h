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
};

class SequenceStore {
 public:
    static Expected<std::unique_ptr<SequenceStore>> create(const KvShape& kv, const RecurrentShape& state,
                                                           const StoreOptions& options);

    struct Sequence {
        SequenceMemory memory;
        int64_t n_past = 0;  // of its ids, from what was kept
    };
    // A sequence that holds the longest kept beginning of `ids` (their last one is always left to feed), and
    // pages for n_position positions. Nothing: the pool has not enough of them now.
    std::unique_ptr<Sequence> start(std::span<const int32_t> ids, int64_t n_position);
    // The same without a kept beginning: what it holds comes from elsewhere.
    std::unique_ptr<Sequence> start_empty(int64_t n_position);
    // Pages for positions before n_position; false where the pool has none.
    bool grow(Sequence& sequence, int64_t n_position);
    // Gives the pages back. `ids` were fed: they are kept for others.
    void finish(std::unique_ptr<Sequence> sequence, std::span<const int32_t> ids);
    void drop(std::unique_ptr<Sequence> sequence);  // keeps nothing

    // Keeps ids that were fed while their sequence goes on. with_state: with a checkpoint, where there are
    // recurrent layers.
    void keep(const Sequence& sequence, std::span<const int32_t> ids, bool with_state);
    PrefixTree::Pin keep_pinned(const Sequence& sequence, std::span<const int32_t> ids);

    bool recurrent() const { return state_shape_.n_layer > 0; }
    PrefixTree& tree() { return tree_; }
    const PrefixTree& tree() const { return tree_; }
    PagePool& pool() { return *pool_; }
    const PagePool& pool() const { return *pool_; }

 private:
    std::unique_ptr<Sequence> begin(const PrefixMatch& match, int64_t n_position);
    SequenceStore(std::unique_ptr<PagePool> pool, const RecurrentShape& state, const StoreOptions& options);

    std::unique_ptr<PagePool> pool_;
    const RecurrentShape state_shape_;
    PrefixTree tree_;
    std::vector<RecurrentState> idle_states_;
};

}  // namespace ft
