#include "base/memory_map.h"

#include <sys/mman.h>

#include <algorithm>

namespace ft {

Expected<MemoryMap> MemoryMap::reserve(size_t bytes, bool huge_pages) {
    MemoryMap map;
    const size_t size = std::max<size_t>(bytes, 1);
    void* at =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return Error{Code::too_large, fmt::format("the system gives no {} bytes of memory", bytes),
                     "Choose a smaller model or context, or raise the limit of address space (ulimit -v)."};
    // Fewer TLB misses while rows are streamed. A refusal changes speed only.
    if (huge_pages) madvise(at, size, MADV_HUGEPAGE);
    map.data_ = static_cast<std::byte*>(at);
    map.size_ = size;
    return map;
}

void MemoryMap::prefer_huge_pages(size_t offset, size_t bytes) {
    constexpr uintptr_t k_huge_page = 2 << 20;  // on other systems the advice is refused or means less
    const auto begin = reinterpret_cast<uintptr_t>(data_) + offset;
    const uintptr_t first = (begin + k_huge_page - 1) / k_huge_page * k_huge_page,
                    end = (begin + bytes) / k_huge_page * k_huge_page;
    if (end > first) madvise(data_ + offset + (first - begin), end - first, MADV_HUGEPAGE);
}

MemoryMap::~MemoryMap() {
    if (data_ != nullptr) munmap(data_, size_);
}

}  // namespace ft
