#include "hub/fetcher.h"

#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <system_error>

#include "base/bytes.h"
#include "base/system_error.h"
#include "hub/url.h"

namespace ft {

namespace {

constexpr uint64_t k_longest_run_bytes = 256 * k_mib;
constexpr uint64_t k_progress_bytes = 64 * k_kib;  // that make up for a failure
constexpr auto k_tick = std::chrono::milliseconds(100);

struct FreeHash {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

// Bytes of a run on their way into the file: written as they come, counted and hashed chunk by chunk.
class RunWriter {
 public:
    RunWriter(PartFile& file, uint64_t begin) : file_(file), at_(begin), hash_(XXH3_createState()) {
        restart_hash();
    }

    uint64_t at() const { return at_; }

    Status take(std::span<const std::byte> bytes) {
        while (!bytes.empty()) {
            const size_t chunk = at_ / file_.chunk_bytes();
            const uint64_t end = std::min((chunk + 1) * file_.chunk_bytes(), file_.part().bytes);
            const auto piece = bytes.first(std::min<uint64_t>(bytes.size(), end - at_));
            if (Status s = file_.write(at_, piece); !s) return s;
            XXH3_64bits_update(hash_.get(), piece.data(), piece.size());
            at_ += piece.size();
            bytes = bytes.subspan(piece.size());
            if (at_ < end) continue;
            if (Status s = file_.finish_chunk(chunk, XXH3_64bits_digest(hash_.get())); !s) return s;
            restart_hash();
        }
        return {};
    }

    void begin_again(uint64_t at) {
        at_ = at;
        restart_hash();
    }

 private:
    void restart_hash() {
        check(hash_ != nullptr && XXH3_64bits_reset(hash_.get()) == XXH_OK, "no hash can be taken");
    }

    PartFile& file_;
    uint64_t at_;
    std::unique_ptr<XXH3_state_t, FreeHash> hash_;
};

// Where there is no digest, the server's own mark tells one content from another.
Status check_same_file(const RemotePart& part, const HttpReply& reply) {
    const std::string place = path_text(shown_url(part.url));
    const std::string_view remedy = "It was replaced meanwhile: give the same command again.";
    if (reply.total && *reply.total != part.bytes)
        return Error{Code::io,
                     fmt::format("{}: the file was said to have {} bytes and now has {}", place, part.bytes,
                                 *reply.total),
                     std::string(remedy)};
    const bool marked = part.sha256.empty() && !part.etag.empty() && !reply.etag.empty();
    if (marked && reply.etag != part.etag)
        return Error{Code::io, fmt::format("{}: the file is not the one that was begun", place),
                     std::string(remedy)};
    return {};
}

}  // namespace

Fetcher::Fetcher(PartFile& file, const DownloadOptions& options) : file_(file), options_(options) {
    size_t lacking = 0;
    for (size_t i = 0; i < file.n_chunks(); i++) lacking += file.has(i) ? 0 : 1;
    const size_t share = lacking / static_cast<size_t>(4 * std::max(1, options.connections));
    longest_run_ =
        std::clamp<size_t>(share, 1, std::max<uint64_t>(1, k_longest_run_bytes / file.chunk_bytes()));
    everything_ = !file.part().ranges && lacking > 0;
    if (everything_) longest_run_ = file.n_chunks();
}

bool Fetcher::should_end() const { return failed_.load() || (options_.stop && options_.stop()); }

std::optional<Fetcher::Run> Fetcher::take_run() {
    const std::lock_guard lock(mutex_);
    while (!everything_ && next_ < file_.n_chunks() && file_.has(next_)) next_++;
    if (next_ >= file_.n_chunks()) return std::nullopt;
    Run run{next_, next_ + 1};
    while (run.last < file_.n_chunks() && run.last - run.first < longest_run_ &&
           (everything_ || !file_.has(run.last)))
        run.last++;
    next_ = run.last;
    return run;
}

bool Fetcher::fail(Error error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
    failed_ = true;
    return false;
}

bool Fetcher::fetch(HttpClient& client, const Run& run) {
    const RemotePart& part = file_.part();
    const uint64_t begin = run.first * file_.chunk_bytes();
    const uint64_t end = std::min(run.last * file_.chunk_bytes(), part.bytes);
    RunWriter writer(file_, begin);
    Status written;
    Tries tries(part.url, options_.patience, [this] { return should_end(); });
    while (writer.at() < end) {
        const uint64_t from = writer.at();
        HttpRequest request{.url = part.url, .most = part.bytes};
        if (part.ranges) request.range = ByteRange{from, end - from};
        HttpReply reply = client.get(request, [&](std::span<const std::byte> bytes) {
            written = writer.take(bytes);
            fetched_ += bytes.size();
            return static_cast<bool>(written);
        });
        if (!written) return fail(written.error());
        if (reply.end == HttpEnd::stopped) return false;
        if (reply.end == HttpEnd::done && writer.at() < end) {  // a whole answer without a length
            reply.end = HttpEnd::broken;
            reply.reason = fmt::format("the server sent {} bytes of {}", reply.received, part.bytes);
        }
        if (Status s = check_same_file(part, reply); !s) return fail(s.error());
        if (writer.at() == end) break;
        if (part.ranges && writer.at() - from >= k_progress_bytes) tries.forget();
        if (!part.ranges) {
            fetched_ -= writer.at() - begin;
            writer.begin_again(begin);
        }
        const NextTry next = tries.after(reply);
        if (next == NextTry::never) return fail(http_error(part.url, reply));
        if (next == NextTry::stopped) return false;
    }
    return true;
}

void Fetcher::work() {
    HttpClient client(options_.token, [this] { return should_end(); });
    while (const auto run = take_run())
        if (should_end() || !fetch(client, *run)) break;
    const std::lock_guard lock(mutex_);
    running_--;
    ended_.notify_one();
}

// False where the system has no thread to give.
bool Fetcher::start(std::vector<std::jthread>& threads) {
    const std::unique_lock lock(mutex_);
    try {
        threads.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
        return false;
    }
    running_++;
    return true;
}

Expected<bool> Fetcher::run(const std::function<void(uint64_t fetched)>& tick) {
    std::vector<std::jthread> threads;
    const int wanted = everything_ ? 1 : std::max(1, options_.connections);
    while (static_cast<int>(threads.size()) < wanted && start(threads)) {
    }
    if (threads.empty())
        return Error{Code::too_large, "the system gives no thread to download with", thread_remedy()};
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, k_tick, [this] { return running_ == 0; })) {
        lock.unlock();
        tick(fetched_);
        lock.lock();
    }
    lock.unlock();
    threads.clear();
    tick(fetched_);
    if (error_) return *error_;
    return !(options_.stop && options_.stop());
}

}  // namespace ft
