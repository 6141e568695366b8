// Reads by io_uring. The queue belongs to the thread that uses it: submitting and collecting are system calls
// of that thread, and no other is woken.
#pragma once

#include <memory>
#include <span>

#include "io/read_queue.h"

namespace ft {

// An error with the reason where the system refuses a ring, or a file cannot be read directly.
Expected<std::unique_ptr<ReadQueue>> open_uring_queue(std::span<const File* const> files);

}  // namespace ft
