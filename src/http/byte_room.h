// A bounded amount of memory that many take from: bodies of requests, and what is made of them. Whoever wants
// bytes asks first, and is told where there are none.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace ft {

class ByteRoom {
 public:
    explicit ByteRoom(uint64_t most) : most_(most) {}

    uint64_t most() const { return most_; }
    uint64_t held() const { return held_; }  // any thread

 private:
    friend class ByteShare;
    bool change(uint64_t from, uint64_t to);

    const uint64_t most_;
    std::atomic<uint64_t> held_{0};
};

// What one holder has of it; given back at the end. Used by one thread at a time.
class ByteShare {
 public:
    explicit ByteShare(std::shared_ptr<ByteRoom> room) : room_(std::move(room)) {}
    ~ByteShare() { room_->change(bytes_, 0); }
    ByteShare(const ByteShare&) = delete;
    ByteShare& operator=(const ByteShare&) = delete;

    // False: there is no room for so many, and the share stays as it was. Fewer than before always fit.
    bool resize(uint64_t bytes);
    uint64_t bytes() const { return bytes_; }
    const ByteRoom& room() const { return *room_; }

 private:
    const std::shared_ptr<ByteRoom> room_;
    uint64_t bytes_ = 0;
};

}  // namespace ft
