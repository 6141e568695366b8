#include "text/token_index.h"

#include <bit>

#include "base/bytes.h"

namespace ft {

namespace {

uint64_t mix(uint64_t a, uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// Up to 8 bytes as one number.
uint64_t load_part(const char* at, size_t n) {
    if (n >= 8) return load<uint64_t>(at);
    if (n >= 4) return (static_cast<uint64_t>(load<uint32_t>(at)) << 32) | load<uint32_t>(at + n - 4);
    if (n == 0) return 0;
    const auto byte = [&](size_t i) { return static_cast<uint64_t>(static_cast<uint8_t>(at[i])); };
    return (byte(0) << 16) | (byte(n / 2) << 8) | byte(n - 1);
}

}  // namespace

uint64_t hash_text(std::string_view text) {
    constexpr uint64_t a = 0x9E3779B97F4A7C15, b = 0xC2B2AE3D27D4EB4F;
    uint64_t hash = text.size() * a;
    size_t at = 0;
    for (; text.size() - at > 16; at += 16)
        hash = mix(hash ^ load<uint64_t>(text.data() + at), b ^ load<uint64_t>(text.data() + at + 8));
    const size_t rest = text.size() - at;
    const uint64_t low = load_part(text.data() + at, rest);
    const uint64_t high = rest > 8 ? load<uint64_t>(text.data() + text.size() - 8) : 0;
    return mix(hash ^ low ^ a, b ^ high);
}

TokenIndex::TokenIndex(const StringList& texts, size_t capacity) : texts_(texts) {
    slots_.resize(std::bit_ceil(capacity * 2 + 2));
    mask_ = slots_.size() - 1;
}

void TokenIndex::add(int32_t id) {
    const std::string_view text = texts_[static_cast<size_t>(id)];
    const uint64_t hash = hash_text(text);
    const auto check = static_cast<uint32_t>(hash >> 32);
    for (uint64_t at = hash & mask_;; at = (at + 1) & mask_) {
        Slot& slot = slots_[at];
        if (slot.id < 0) {
            slot = {check, id};
            return;
        }
        if (slot.check == check && texts_[static_cast<size_t>(slot.id)] == text) return;
    }
}

int32_t TokenIndex::find(std::string_view text, uint64_t hash) const {
    const auto check = static_cast<uint32_t>(hash >> 32);
    for (uint64_t at = hash & mask_;; at = (at + 1) & mask_) {
        const Slot& slot = slots_[at];
        if (slot.id < 0) return -1;
        if (slot.check == check && texts_[static_cast<size_t>(slot.id)] == text) return slot.id;
    }
}

}  // namespace ft
