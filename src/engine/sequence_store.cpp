#include "engine/sequence_store.h"

#include <algorithm>

namespace ft {

SequenceStore::SequenceStore(std::unique_ptr<PagePool> pool, const RecurrentShape& state,
                             const StoreOptions& options)
    : pool_(std::move(pool)),
      options_(options),
      recurrent_(state.n_layer > 0),
      tree_(*pool_, recurrent_, options.prefix) {
    for (int i = 0; i < options.n_sequence; i++) idle_states_.emplace_back(state);
}

Expected<std::unique_ptr<SequenceStore>> SequenceStore::create(const KvShape& kv, const RecurrentShape& state,
                                                               const StoreOptions& options) {
    auto pool = PagePool::create(kv, options.n_page);
    if (!pool) return pool.error();
    return std::unique_ptr<SequenceStore>(new SequenceStore(std::move(*pool), state, options));
}

std::unique_ptr<SequenceStore::Sequence> SequenceStore::start(std::span<const int32_t> ids,
                                                              int64_t n_position) {
    check(!ids.empty(), "a sequence without ids");
    return begin(tree_.find(ids.first(ids.size() - 1)), n_position);
}

std::unique_ptr<SequenceStore::Sequence> SequenceStore::start_empty(int64_t n_position) {
    return begin({}, n_position);
}

std::unique_ptr<SequenceStore::Sequence> SequenceStore::begin(const PrefixMatch& match, int64_t n_position) {
    check(!idle_states_.empty(), "more sequences than there is memory for");
    int64_t promised = 0;
    if (options_.window > 0) {
        promised = std::min(kv_pages(n_position), options_.sequence_pages);
        if (n_promised_ + promised > pool_->n_page()) return nullptr;
        n_position = std::min(n_position, promised * k_kv_block);
    }
    PrefixMatch used = match;
    KvSequence kv(*pool_);
    bool fits = give_pages(used, n_position, kv);
    if (!fits && used.n_token % k_kv_block != 0 && used.state == nullptr) {
        // The page that would be copied may be the one that is missing: its ids are read again.
        kv.truncate(0);
        used.pages.pop_back();
        used.n_token = static_cast<int64_t>(used.pages.size()) * k_kv_block;
        fits = give_pages(used, n_position, kv);
    }
    if (!fits) return nullptr;
    n_promised_ += promised;
    auto sequence = std::make_unique<Sequence>(
        Sequence{SequenceMemory{std::move(kv), std::move(idle_states_.back())}, used.n_token, promised});
    idle_states_.pop_back();
    if (used.state != nullptr) sequence->memory.state.copy_from(*used.state);
    else sequence->memory.state.clear();
    return sequence;
}

bool SequenceStore::give_pages(const PrefixMatch& match, int64_t n_position, KvSequence& kv) {
    kv.adopt(match.pages);  // from now on they cannot be forgotten
    const bool cut = match.n_token % k_kv_block != 0;
    const int64_t missing = kv_pages(n_position) - static_cast<int64_t>(match.pages.size()) + (cut ? 1 : 0);
    if (!tree_.free_pages(missing)) return false;
    if (cut) check(kv.make_private(static_cast<int64_t>(match.pages.size()) - 1), "a free page is gone");
    check(kv.reserve(n_position), "free pages are gone");
    return true;
}

bool SequenceStore::grow(Sequence& sequence, int64_t n_position) {
    KvSequence& kv = sequence.memory.kv;
    kv.slide(sequence.n_past, options_.window, options_.sinks);
    const auto have = static_cast<int64_t>(kv.pages().size());
    return tree_.free_pages(kv_pages(n_position) - have) && kv.reserve(n_position);
}

void SequenceStore::keep(const Sequence& sequence, std::span<const int32_t> ids, bool with_state) {
    tree_.insert(ids, sequence.memory.kv.pages(), true, with_state ? &sequence.memory.state : nullptr);
}

PrefixTree::Pin SequenceStore::keep_pinned(const Sequence& sequence, std::span<const int32_t> ids) {
    return tree_.insert_pinned(ids, sequence.memory.kv.pages(), true,
                               recurrent() ? &sequence.memory.state : nullptr);
}

void SequenceStore::finish(std::unique_ptr<Sequence> sequence, std::span<const int32_t> ids) {
    tree_.insert(ids, sequence->memory.kv.pages(), false, recurrent() ? &sequence->memory.state : nullptr);
    drop(std::move(sequence));
}

void SequenceStore::drop(std::unique_ptr<Sequence> sequence) {
    n_promised_ -= sequence->n_promised;
    idle_states_.push_back(std::move(sequence->memory.state));
}

}  // namespace ft
