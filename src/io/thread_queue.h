// Reads by a pool of threads, for systems and files that io_uring cannot serve.
#pragma once

#include <memory>

#include "io/read_queue.h"

namespace ft {

// An error where not one thread can be started.
Expected<std::unique_ptr<ReadQueue>> open_thread_queue();

}  // namespace ft
