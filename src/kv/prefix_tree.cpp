#include "kv/prefix_tree.h"

#include <algorithm>

#include "base/check.h"

namespace ft {

namespace {

size_t common(std::span<const int32_t> a, std::span<const int32_t> b) {
    return static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

std::span<const int32_t> block_of(std::span<const int32_t> ids, size_t at) {
    return ids.subspan(at, std::min<size_t>(k_kv_block, ids.size() - at));
}

}  // namespace

PrefixTree::PrefixTree(PagePool& pool, bool recurrent, const PrefixBudget& budget)
    : pool_(pool), recurrent_(recurrent), budget_(budget) {}

PrefixTree::~PrefixTree() { clear(); }

PrefixMatch PrefixTree::find(std::span<const int32_t> ids) {
    PrefixMatch match, at_state;
    Node* node = &root_;
    Node* deepest = nullptr;
    Checkpoints::iterator used = states_.end();
    while (node != nullptr && static_cast<size_t>(match.n_token) < ids.size()) {
        const auto block = block_of(ids, static_cast<size_t>(match.n_token));
        Node* best = nullptr;
        size_t most = 0;
        for (const auto& child : node->children) {
            const size_t same = common(child->ids, block);
            for (const auto state : child->states)
                if (static_cast<size_t>(state->offset) <= same &&
                    match.n_token + state->offset > at_state.n_token) {
                    at_state = match;
                    at_state.n_token += state->offset;
                    at_state.pages.push_back(child->page);
                    at_state.state = &state->state;
                    used = state;
                }
            if (same > most) most = same, best = child.get();
        }
        if (best == nullptr) break;
        match.n_token += static_cast<int64_t>(most);
        match.pages.push_back(best->page);
        deepest = best;
        node = most == k_kv_block ? best : nullptr;
    }
    if (!recurrent_) {
        touch(deepest);
        return match;
    }
    if (used != states_.end()) {
        states_.splice(states_.begin(), states_, used);
        touch(used->node);
    }
    return at_state;
}

// The page that the tree holds a reference to; -1: there is none for a copy.
int32_t PrefixTree::page_for(int32_t page, bool copy) {
    if (!copy) {
        pool_.share(page);
        return page;
    }
    const auto own = pool_.take();
    if (!own) return -1;
    std::ranges::copy(pool_.bytes(page), pool_.bytes(*own).begin());
    return *own;
}

// A leaf whose ids are a beginning of `ids` becomes longer.
PrefixTree::Node* PrefixTree::extend(Node& leaf, std::span<const int32_t> ids, int32_t page, bool copy) {
    if (page != leaf.page) {
        const int32_t own = page_for(page, copy);
        if (own < 0) return nullptr;
        pool_.release(leaf.page);
        leaf.page = own;
    }
    leaf.ids.assign(ids.begin(), ids.end());
    return &leaf;
}

// The child of `node` that holds `ids`, made where there is none; nothing where it could not be made.
PrefixTree::Node* PrefixTree::step_into(Node& node, std::span<const int32_t> ids, int32_t page, bool copy) {
    for (const auto& child : node.children) {
        const size_t same = common(child->ids, ids);
        if (same == ids.size()) return child.get();
        if (same == child->ids.size()) return extend(*child, ids, page, copy);
    }
    const int32_t own = page_for(page, copy);
    if (own < 0) return nullptr;
    node.children.push_back(std::make_unique<Node>());
    Node* const child = node.children.back().get();
    child->parent = &node;
    child->ids.assign(ids.begin(), ids.end());
    child->page = own;
    child->age = ages_.insert(ages_.begin(), child);
    n_node_++;
    return child;
}

// The node of the last id that is kept; the root where none is.
PrefixTree::Node* PrefixTree::add(std::span<const int32_t> ids, std::span<const int32_t> pages,
                                  bool copy_last, const RecurrentState* state, int pins) {
    check(static_cast<int64_t>(pages.size()) >= kv_pages(static_cast<int64_t>(ids.size())),
          "ids are kept without their pages");
    Node* node = &root_;
    size_t at = 0;
    while (at < ids.size()) {
        const auto block = block_of(ids, at);
        const int32_t page = pages[at / k_kv_block];
        if (page < 0) break;  // a window dropped it
        Node* const next = step_into(*node, block, page, copy_last && block.size() < k_kv_block);
        if (next == nullptr) break;
        node = next;
        at += block.size();
    }
    touch(node);
    node->pins += pins;
    if (at == ids.size() && at > 0 && state != nullptr)
        keep_state(*node, static_cast<int>((at - 1) % k_kv_block) + 1, *state);
    keep_budget();
    return node;
}

void PrefixTree::insert(std::span<const int32_t> ids, std::span<const int32_t> pages, bool copy_last,
                        const RecurrentState* state) {
    add(ids, pages, copy_last, state, 0);
}

PrefixTree::Pin PrefixTree::insert_pinned(std::span<const int32_t> ids, std::span<const int32_t> pages,
                                          bool copy_last, const RecurrentState* state) {
    pins_.emplace(next_pin_, add(ids, pages, copy_last, state, 1));
    return next_pin_++;
}

void PrefixTree::keep_state(Node& node, int offset, const RecurrentState& state) {
    for (const auto known : node.states)
        if (known->offset == offset) return states_.splice(states_.begin(), states_, known);
    const uint64_t bytes = state.shape().bytes();
    if (bytes > budget_.state_bytes && node.pins == 0) return;
    states_.push_front(Checkpoint{&node, offset, RecurrentState(state.shape())});
    states_.front().state.copy_from(state);
    state_bytes_ += bytes;
    node.states.push_back(states_.begin());
}

void PrefixTree::touch(Node* node) {
    for (; node != nullptr && node != &root_; node = node->parent)
        ages_.splice(ages_.begin(), ages_, node->age);
}

void PrefixTree::drop_state(Checkpoints::iterator state) {
    std::erase(state->node->states, state);
    state_bytes_ -= state->state.shape().bytes();
    states_.erase(state);
}

void PrefixTree::remove(Node& leaf) {
    check(leaf.children.empty() && leaf.pins == 0, "a page that others need is forgotten");
    while (!leaf.states.empty()) drop_state(leaf.states.back());
    pool_.release(leaf.page);
    ages_.erase(leaf.age);
    n_node_--;
    std::erase_if(leaf.parent->children, [&](const auto& child) { return child.get() == &leaf; });
}

void PrefixTree::keep_budget() {
    for (auto state = states_.end(); state_bytes_ > budget_.state_bytes && state != states_.begin();) {
        const auto older = --state;
        if (older->node->pins > 0) continue;
        state = std::next(older);
        drop_state(older);
    }
    for (auto age = ages_.end(); page_bytes() > budget_.page_bytes && age != ages_.begin();) {
        Node& node = **--age;
        if (!node.children.empty() || node.pins > 0) continue;
        age = std::next(age);
        remove(node);
    }
}

bool PrefixTree::free_pages(int64_t n_page) {
    bool pinned = false;
    if (pool_.n_free() >= n_page) return true;
    if (pool_.n_free() + freeable(root_, pinned) < n_page) return false;
    for (auto age = ages_.end(); pool_.n_free() < n_page && age != ages_.begin();) {
        Node& node = **--age;
        if (!node.children.empty() || node.pins > 0 || pool_.refs(node.page) > 1) continue;
        age = std::next(age);
        remove(node);
    }
    while (pool_.n_free() < n_page) free_one_inside();
    return true;
}

// Pages of a node and those behind it that only the tree holds, but for those that stand before a pinned one.
int64_t PrefixTree::freeable(const Node& node, bool& pinned) const {
    int64_t n = 0;
    bool here = &node != &root_ && node.pins > 0;
    for (const auto& child : node.children) n += freeable(*child, here);
    if (&node != &root_ && !here && pool_.refs(node.page) == 1) n++;
    pinned = pinned || here;
    return n;
}

// Forgets the oldest page that only the tree holds, although its children's are in use, and those.
void PrefixTree::free_one_inside() {
    for (auto age = ages_.rbegin(); age != ages_.rend(); ++age) {
        Node& node = **age;
        bool pinned = false;
        freeable(node, pinned);
        if (pool_.refs(node.page) > 1 || pinned) continue;
        return remove_all(node);
    }
    check(false, "pages that can be freed are not there");
}

void PrefixTree::remove_all(Node& node) {
    while (!node.children.empty()) remove_all(*node.children.back());
    remove(node);
}

void PrefixTree::unpin(Pin pin) {
    const auto at = pins_.find(pin);
    if (at == pins_.end()) return;
    at->second->pins--;
    pins_.erase(at);
    keep_budget();
}

void PrefixTree::unpin_all() {
    for (const auto& [pin, node] : pins_) node->pins--;
    pins_.clear();
    keep_budget();
}

void PrefixTree::clear() {
    for (const auto& [pin, node] : pins_) node->pins--;
    pins_.clear();
    while (!ages_.empty()) remove(*ages_.back());
}

}  // namespace ft
