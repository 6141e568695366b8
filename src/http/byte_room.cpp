#include "http/byte_room.h"

namespace ft {

bool ByteRoom::change(uint64_t from, uint64_t to) {
    uint64_t held = held_;
    for (;;) {
        const uint64_t others = held - from;
        if (to > from && (others > most_ || to > most_ - others)) return false;
        if (held_.compare_exchange_weak(held, others + to)) return true;
    }
}

bool ByteShare::resize(uint64_t bytes) {
    if (!room_->change(bytes_, bytes)) return false;
    bytes_ = bytes;
    return true;
}

}  // namespace ft
