// SHA-256, by which hubs name the content of files.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace ft {

class Sha256 {
 public:
    Sha256();
    ~Sha256();
    Sha256(const Sha256&) = delete;
    Sha256& operator=(const Sha256&) = delete;

    void add(std::span<const std::byte> bytes);
    std::string hex();  // once, last: 64 digits in small letters

 private:
    struct State;
    std::unique_ptr<State> state_;
};

bool is_sha256(std::string_view text);  // 64 digits in small letters

}  // namespace ft
