#include "io/read_queue.h"

#include "base/log.h"
#include "io/thread_queue.h"
#include "io/uring_queue.h"

namespace ft {

Expected<std::unique_ptr<ReadQueue>> ReadQueue::open(std::span<const File* const> files, ReadMethod method) {
    if (method == ReadMethod::threads) return open_thread_queue();
    auto ring = open_uring_queue(files);
    if (ring || method == ReadMethod::io_uring) return ring;
    log("load", "{}; experts are read by threads", ring.error().what);
    return open_thread_queue();
}

}  // namespace ft
