#include "cli/token_rate.h"

namespace ft::cli {

namespace {

constexpr size_t k_rated_seconds = 60;

}  // namespace

void TokenRate::add(uint64_t tokens, Seconds generating) {
    seconds_.push_back({tokens, generating});
    if (seconds_.size() > k_rated_seconds) seconds_.pop_front();
}

double TokenRate::per_second() const {
    uint64_t tokens = 0;
    Seconds generating = 0;
    for (const Second& second : seconds_) {
        tokens += second.tokens;
        generating += second.generating;
    }
    return generating > 0 ? static_cast<double>(tokens) / generating : 0;
}

}  // namespace ft::cli
