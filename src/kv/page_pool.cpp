#include "kv/page_pool.h"

#include <limits>

namespace ft {

Expected<std::unique_ptr<PagePool>> PagePool::create(const KvShape& shape, int64_t n_page) {
    check(n_page >= 0 && n_page <= std::numeric_limits<int32_t>::max(), "a page pool of an impossible size");
    auto memory = MemoryMap::reserve(shape.page_bytes() * static_cast<uint64_t>(n_page));
    if (!memory) return memory.error().within("KV cache");
    return std::unique_ptr<PagePool>(new PagePool(shape, n_page, std::move(*memory)));
}

PagePool::PagePool(const KvShape& shape, int64_t n_page, MemoryMap memory)
    : shape_(shape),
      page_bytes_(shape.page_bytes()),
      memory_(std::move(memory)),
      refs_(static_cast<size_t>(n_page)) {
    free_.reserve(refs_.size());
    for (int64_t page = n_page - 1; page >= 0; page--) free_.push_back(static_cast<int32_t>(page));
}

std::optional<int32_t> PagePool::take() {
    if (free_.empty()) return std::nullopt;
    const int32_t page = free_.back();
    free_.pop_back();
    refs_[static_cast<size_t>(page)] = 1;
    return page;
}

void PagePool::share(int32_t page) {
    check(refs(page) > 0, "a free page is shared");
    refs_[static_cast<size_t>(page)]++;
}

void PagePool::release(int32_t page) {
    check(refs(page) > 0, "a free page is released");
    if (--refs_[static_cast<size_t>(page)] == 0) free_.push_back(page);
}

}  // namespace ft
