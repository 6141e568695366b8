// While it lives no more than n new threads find room: their stacks are large, and the process may not grow.
#pragma once

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>

#include "base/bytes.h"

namespace ft {

class FewThreads {
 public:
    explicit FewThreads(int n) {
        pthread_attr_t large;
        ::pthread_getattr_default_np(&before_);
        ::pthread_attr_init(&large);
        ::pthread_attr_setstacksize(&large, k_stack);
        ::pthread_setattr_default_np(&large);
        ::pthread_attr_destroy(&large);
        ::getrlimit(RLIMIT_AS, &limit_before_);
        rlimit limit = limit_before_;
        limit.rlim_cur = size_now() + static_cast<rlim_t>(n) * k_stack + k_stack / 2;
        ::setrlimit(RLIMIT_AS, &limit);
    }
    FewThreads(const FewThreads&) = delete;
    FewThreads& operator=(const FewThreads&) = delete;
    ~FewThreads() {
        ::setrlimit(RLIMIT_AS, &limit_before_);
        ::pthread_setattr_default_np(&before_);
        ::pthread_attr_destroy(&before_);
    }

 private:
    static constexpr size_t k_stack = 256 * k_mib;

    static rlim_t size_now() {
        unsigned long long pages = 0;
        std::FILE* const file = std::fopen("/proc/self/statm", "r");
        if (!file || std::fscanf(file, "%llu", &pages) != 1) pages = 0;
        if (file) std::fclose(file);
        return static_cast<rlim_t>(pages) * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
    }

    pthread_attr_t before_{};
    rlimit limit_before_{};
};

}  // namespace ft
