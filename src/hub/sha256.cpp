#include "hub/sha256.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>

#include "base/check.h"

namespace ft {

struct Sha256::State {
    EVP_MD_CTX* context = EVP_MD_CTX_new();
    ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
    check(state_->context != nullptr && EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1,
          "the library of digests cannot be started");
}

Sha256::~Sha256() = default;

void Sha256::add(std::span<const std::byte> bytes) {
    check(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1, "a digest failed");
}

std::string Sha256::hex() {
    std::array<unsigned char, 32> digest{};
    check(EVP_DigestFinal_ex(state_->context, digest.data(), nullptr) == 1, "a digest failed");
    std::string text;
    for (const unsigned char byte : digest) text += fmt::format("{:02x}", byte);
    return text;
}

bool is_sha256(std::string_view text) {
    return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
               return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
           });
}

}  // namespace ft
