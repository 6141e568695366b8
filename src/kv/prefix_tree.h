// Beginnings that were fed before: a tree over pages, so that a sequence that begins with the same ids reads
// only what is new. A node is one page: 128 ids, or fewer where it is the last of what was kept. Pages are
// shared by counting references (kv/page_pool.h), so a kept beginning costs no memory beside the pool's.
//
// Models with recurrent layers can only go on from a place where their state was kept. Such checkpoints are
// copies, made and given back by copying, and hang on the node that holds the id before them.
//
// What was used longest ago goes first: checkpoints when they are more than state_bytes, pages when they are
// more than page_bytes or when the pool needs them. A page that running sequences share stays theirs.
//
// Owner: one thread.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "kv/page_pool.h"
#include "kv/recurrent_state.h"

namespace ft {

struct PrefixBudget {
    uint64_t page_bytes = 0;
    uint64_t state_bytes = 0;
};

struct PrefixMatch {
    int64_t n_token = 0;
    std::vector<int32_t> pages;             // that hold them; the last one may hold others behind them
    const RecurrentState* state = nullptr;  // after n_token ids; valid until the tree is changed
};

class PrefixTree {
 public:
    // recurrent: matches end at checkpoints only. The pool must outlive the tree.
    PrefixTree(PagePool& pool, bool recurrent, const PrefixBudget& budget);
    ~PrefixTree();
    PrefixTree(const PrefixTree&) = delete;
    PrefixTree& operator=(const PrefixTree&) = delete;

    // The longest beginning of `ids` that is kept. No page is shared yet.
    PrefixMatch find(std::span<const int32_t> ids);

    // Keeps ids whose keys and values lie in `pages`, kv_pages(ids.size()) of them. copy_last: the last page
    // is not whole and its owner goes on writing it, so its bytes are copied; where the pool has no page for
    // that, only the whole ones are kept. state: after the last id; nothing where it is not to be kept.
    void insert(std::span<const int32_t> ids, std::span<const int32_t> pages, bool copy_last,
                const RecurrentState* state);

    // The same, and it stays until unpin(), whatever the budget, unless unpin_all() comes first.
    using Pin = uint64_t;
    Pin insert_pinned(std::span<const int32_t> ids, std::span<const int32_t> pages, bool copy_last,
                      const RecurrentState* state);
    void unpin(Pin pin);
    void unpin_all();

    // Forgets old pages until the pool has n_page free ones; false, and nothing is forgotten, where that
    // cannot be. Where nothing else is left, also what stands before pages that running sequences use: a
    // window may have moved on from it.
    bool free_pages(int64_t n_page);
    void clear();  // all, pinned ones too

    int64_t n_page() const { return n_node_; }
    uint64_t page_bytes() const { return static_cast<uint64_t>(n_node_) * pool_.page_bytes(); }
    int64_t n_state() const { return static_cast<int64_t>(states_.size()); }
    uint64_t state_bytes() const { return state_bytes_; }

 private:
    struct Node;
    struct Checkpoint {
        Node* node;
        int offset;  // ids of the node before it
        RecurrentState state;
    };
    using Checkpoints = std::list<Checkpoint>;
    struct Node {
        Node* parent = nullptr;
        std::vector<int32_t> ids;
        int32_t page = -1;
        int pins = 0;
        std::vector<std::unique_ptr<Node>> children;
        std::vector<Checkpoints::iterator> states;
        std::list<Node*>::iterator age;
    };

    Node* step_into(Node& node, std::span<const int32_t> ids, int32_t page, bool copy);
    Node* extend(Node& leaf, std::span<const int32_t> ids, int32_t page, bool copy);
    Node* add(std::span<const int32_t> ids, std::span<const int32_t> pages, bool copy_last,
              const RecurrentState* state, int pins);
    void keep_state(Node& node, int offset, const RecurrentState& state);
    void touch(Node* node);
    void drop_state(Checkpoints::iterator state);
    void remove(Node& leaf);
    void remove_all(Node& node);
    int64_t freeable(const Node& node, bool& pinned) const;
    void free_one_inside();
    void keep_budget();
    int32_t page_for(int32_t page, bool copy);

    PagePool& pool_;
    const bool recurrent_;
    const PrefixBudget budget_;
    Node root_;
    int64_t n_node_ = 0;
    std::list<Node*> ages_;  // the newest first; a node is newer than its children
    Checkpoints states_;     // the newest first
    uint64_t state_bytes_ = 0;
    std::unordered_map<Pin, Node*> pins_;
    Pin next_pin_ = 1;
};

}  // namespace ft
