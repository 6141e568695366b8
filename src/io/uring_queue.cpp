#include "io/uring_queue.h"

#include <liburing.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "base/buffer.h"
#include "base/system_error.h"
#include "io/blocks.h"

namespace ft {

namespace {

constexpr unsigned k_submissions = 256;

class UringQueue final : public ReadQueue {
 public:
    UringQueue() : under_way_(k_most_in_flight) {
        for (size_t i = 0; i < k_most_in_flight; i++) free_.push_back(k_most_in_flight - 1 - i);
    }
    ~UringQueue() override {
        if (!is_open_) return;
        std::vector<ReadDone> ignored;
        while (in_flight_ > 0) collect(ignored, true);
        io_uring_queue_exit(&ring_);
    }

    // 0, or the number of the system's error.
    int open() {
        io_uring_params params = {};
        params.flags = IORING_SETUP_CQSIZE;
        params.cq_entries = k_most_in_flight;
        const int error = -io_uring_queue_init_params(k_submissions, &ring_, &params);
        is_open_ = error == 0;
        return error;
    }

    void submit(std::span<const Read> reads) override {
        for (const Read& read : reads) {
            io_uring_sqe* entry = io_uring_get_sqe(&ring_);
            if (entry == nullptr) {
                submit_entries();
                entry = io_uring_get_sqe(&ring_);
            }
            check(entry != nullptr && !free_.empty(), "more reads in flight than a queue takes");
            const size_t place = free_.back();
            free_.pop_back();
            under_way_[place] = read;
            const BlockRange blocks = covering_blocks(read.offset, read.to);
            io_uring_prep_read(entry, read.file->direct_descriptor(), blocks.to.data(),
                               static_cast<unsigned>(blocks.to.size()), blocks.offset);
            io_uring_sqe_set_data64(entry, place);
            in_flight_++;
        }
        submit_entries();
    }

    void collect(std::vector<ReadDone>& done, bool wait) override {
        const size_t before = done.size();
        io_uring_cqe* entry = nullptr;
        while (in_flight_ > 0) {
            const bool must_wait = wait && done.size() == before;
            const int error =
                must_wait ? io_uring_wait_cqe(&ring_, &entry) : io_uring_peek_cqe(&ring_, &entry);
            if (error == -EINTR) continue;
            if (error != 0) {
                check(error == -EAGAIN && !must_wait, "the ring of reads does not answer");
                return;
            }
            finish(io_uring_cqe_get_data64(entry), entry->res, done);
            io_uring_cqe_seen(&ring_, entry);
        }
    }

    std::string_view method() const override { return "io_uring"; }

 private:
    void submit_entries() {
        while (io_uring_sq_ready(&ring_) > 0) {
            const int sent = io_uring_submit(&ring_);
            if (sent >= 0) continue;
            check(sent == -EAGAIN || sent == -EBUSY || sent == -EINTR, "the ring of reads refuses a read");
            std::this_thread::yield();  // the system is short of memory for requests for a moment
        }
    }

    void finish(size_t place, int result, std::vector<ReadDone>& done) {
        const Read read = std::exchange(under_way_[place], {});
        free_.push_back(place);
        in_flight_--;
        const uint64_t needed = read.offset % k_file_block + read.to.size();
        // What came back short or not at all is read once more, plainly: that either helps or says what is
        // wrong and where.
        const bool whole = result >= 0 && static_cast<uint64_t>(result) >= needed;
        done.push_back(
            {read.tag,
             whole ? read.file->accept(read.offset, read.to) : read.file->read_at(read.offset, read.to),
             read.to.size()});
    }

    io_uring ring_ = {};
    bool is_open_ = false;
    std::vector<Read> under_way_;  // by the number that the ring carries
    std::vector<size_t> free_;
};

Status check_direct(const File& file) {
    const int descriptor = file.direct_descriptor();
    // Whoever has no descriptor left is not told that the file system lacks something.
    if (const int refusal = file.direct_refusal(); refusal == EMFILE || refusal == ENFILE)
        return system_error(file.path(), "open for direct reads", refusal);
    if (descriptor < 0)
        return Error{Code::unsupported, fmt::format("{}: no direct reads", path_text(file.path())), ""};
    Buffer<std::byte> block(k_file_block, k_file_block);
    if (::pread(descriptor, block.data(), block.size(), 0) < 0)
        return system_error(file.path(), "read directly", errno);
    return {};
}

}  // namespace

Expected<std::unique_ptr<ReadQueue>> open_uring_queue(std::span<const File* const> files) {
    for (const File* file : files)
        if (Status s = check_direct(*file); !s) return s.error();
    auto queue = std::make_unique<UringQueue>();
    if (const int error = queue->open(); error != 0)
        return Error{Code::unsupported, fmt::format("io_uring is refused: {}", std::strerror(error)), ""};
    return std::unique_ptr<ReadQueue>(std::move(queue));
}

}  // namespace ft
