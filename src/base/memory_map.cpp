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

MemoryMap::~MemoryMap() {
    if (data_ != nullptr) munmap(data_, size_);
}

}  // namespace ft
