#include "tiers/expert_pack.h"

#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/log.h"
#include "io/blocks.h"
#include "io/load.h"
#include "io/output_file.h"
#include "tiers/slots.h"

namespace ft {

namespace {

constexpr char k_magic[] = "FTPACK01";
constexpr size_t k_head_words = 3;              // magic, identity, number of records
constexpr uint64_t k_batch_bytes = 64 * k_mib;  // of records that are read at a time
constexpr int64_t k_ns = 1'000'000'000;         // of a second
constexpr uint64_t k_sync_bytes = 256 * k_mib;  // that may wait to be written

// Where the records of a layer lie.
struct Place {
    uint64_t begin = 0;        // of expert 0
    uint64_t stride = 0;       // whole blocks
    uint64_t bytes = 0;        // from the first slice to the end of the last
    std::vector<uint64_t> at;  // of each slice in its record
    size_t first = 0;          // number of the first record
};

struct Layout {
    std::vector<Place> places;  // of each layer
    uint64_t table_begin = 0;
    size_t n_record = 0;
    uint64_t table_bytes() const { return (k_head_words + n_record + 1) * sizeof(uint64_t); }
};

Layout layout_of(const ExpertRecords& records) {
    Layout layout;
    for (const ExpertLayer& layer : records) {
        std::vector<uint64_t> slices;
        for (const SliceStack& stack : layer.stacks) slices.push_back(stack.slice_bytes);
        Place place{.begin = layout.table_begin, .at = slot_rooms(slices), .first = layout.n_record};
        place.stride = place.at.back();
        place.at.pop_back();
        place.bytes = place.at.back() + slices.back();
        layout.table_begin += place.stride * static_cast<uint64_t>(layer.n_expert);
        layout.n_record += static_cast<size_t>(layer.n_expert);
        layout.places.push_back(std::move(place));
    }
    return layout;
}

// Name, size and time of the model's files as they were opened, and where in them the experts lie. (Of what
// has their names by now it may be another file.)
uint64_t identity_of(const ExpertRecords& records) {
    std::string text;
    const File* last = nullptr;
    for (const ExpertLayer& layer : records)
        for (const SliceStack& stack : layer.stacks) {
            if (stack.file != last) {
                const int64_t written_ns = stack.file->identity().written_ns;
                text += fmt::format("{} {} {}.{}\n",
                                    std::filesystem::path(stack.file->path()).filename().string(),
                                    stack.file->size(), written_ns / k_ns, written_ns % k_ns);
                last = stack.file;
            }
            text += fmt::format("{} {} {}\n", stack.offset, stack.slice_bytes, layer.n_expert);
        }
    return XXH3_64bits(text.data(), text.size());
}

// An error where one of the model's files was written to since it was opened.
Status check_unchanged(const ExpertRecords& records) {
    for (const ExpertLayer& layer : records)
        for (const SliceStack& stack : layer.stacks)
            if (Status s = stack.file->check_unchanged(); !s) return s;
    return {};
}

uint64_t hash_of(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::vector<uint64_t> begin_table(const ExpertRecords& records, const Layout& layout) {
    return {load<uint64_t>(k_magic), identity_of(records), layout.n_record};
}

uint64_t hash_of_words(std::span<const uint64_t> words) { return hash_of(std::as_bytes(words)); }

// Slices of one expert, into memory that looks like its record.
std::vector<LoadRange> ranges_of(const ExpertLayer& layer, const Place& place, int expert,
                                 std::byte* record) {
    std::vector<LoadRange> ranges;
    for (size_t i = 0; i < layer.stacks.size(); i++)
        ranges.push_back({layer.stacks[i].file,
                          layer.stacks[i].of(expert),
                          {record + place.at[i], layer.stacks[i].slice_bytes}});
    return ranges;
}

// Copies record after record and keeps their hashes.
class PackWriter {
 public:
    PackWriter(OutputFile& to, const ExpertRecords& records, const Layout& layout)
        : to_(to), records_(records), layout_(layout), table_(begin_table(records, layout)) {}

    Status run(const std::function<void(uint64_t, uint64_t)>& progress) {
        for (size_t layer = 0; layer < records_.size(); layer++) {
            const auto n = records_[layer].n_expert;
            const auto at_once =
                static_cast<int>(std::max<uint64_t>(1, k_batch_bytes / layout_.places[layer].stride));
            for (int expert = 0; expert < n; expert += at_once) {
                if (Status s = copy(layer, expert, std::min(at_once, n - expert)); !s) return s;
                if (progress) progress(done_, layout_.table_begin);
            }
        }
        table_.push_back(hash_of_words(table_));
        if (Status s = to_.write(std::as_bytes(std::span(table_))); !s) return s;
        if (Status s = to_.sync(); !s) return s;
        return check_unchanged(records_);
    }

 private:
    Status copy(size_t layer, int first, int n) {
        const Place& place = layout_.places[layer];
        const uint64_t bytes = place.stride * static_cast<uint64_t>(n);
        if (batch_.size() < bytes) batch_ = Buffer<std::byte>(bytes, k_file_block);
        std::memset(batch_.data(), 0, bytes);
        std::vector<LoadRange> ranges;
        for (int i = 0; i < n; i++) {
            const auto more = ranges_of(records_[layer], place, first + i,
                                        batch_.data() + static_cast<uint64_t>(i) * place.stride);
            ranges.insert(ranges.end(), more.begin(), more.end());
        }
        if (Status s = load_ranges(ranges); !s) return s;
        for (int i = 0; i < n; i++)
            table_.push_back(hash_of({batch_.data() + static_cast<uint64_t>(i) * place.stride, place.bytes}));
        if (Status s = to_.write({batch_.data(), bytes}); !s) return s;
        done_ += bytes;
        if (done_ - synced_ < k_sync_bytes) return {};
        synced_ = done_;
        return to_.sync();
    }

    OutputFile& to_;
    const ExpertRecords& records_;
    const Layout& layout_;
    std::vector<uint64_t> table_;
    Buffer<std::byte> batch_;
    uint64_t done_ = 0, synced_ = 0;
};

Error not_usable(const std::string& path, std::string_view why) {
    return Error{Code::invalid, fmt::format("{}: {}", path_text(path), why), ""};
}

// The hashes of the records.
Expected<std::vector<uint64_t>> read_table(const File& file, const ExpertRecords& records,
                                           const Layout& layout) {
    if (file.size() != layout.table_begin + layout.table_bytes())
        return not_usable(file.path(), "not the size that the experts of this model have");
    std::vector<uint64_t> table(layout.table_bytes() / sizeof(uint64_t));
    if (Status s = file.read_at(layout.table_begin, std::as_writable_bytes(std::span(table))); !s)
        return s.error();
    if (table.back() != hash_of_words(std::span(table).first(table.size() - 1)))
        return not_usable(file.path(), "damaged");
    const std::vector<uint64_t> wanted = begin_table(records, layout);
    if (!std::equal(wanted.begin(), wanted.end(), table.begin()))
        return not_usable(file.path(), "made from another file, or from an earlier state of this one");
    return std::vector<uint64_t>(table.begin() + k_head_words, table.end() - 1);
}

}  // namespace

// A pack as the file that experts are read from: whole records, looked at, and mended from the model.
class PackFile final : public File {
 public:
    PackFile(std::unique_ptr<File> file, const ExpertRecords& records, Layout layout,
             std::vector<uint64_t> hashes)
        : File(file->path()),
          file_(std::move(file)),
          records_(records),
          layout_(std::move(layout)),
          hashes_(std::move(hashes)),
          seen_(hashes_.size()) {}

    uint64_t size() const override { return file_->size(); }
    Status read_at(uint64_t offset, std::span<std::byte> to) const override {
        return file_->read_at(offset, to) ? accept(offset, to) : mend(offset, to);
    }
    Status read_blocks(uint64_t offset, std::span<std::byte> to) const override {
        return file_->read_blocks(offset, to) ? accept(offset, to) : mend(offset, to);
    }
    Status check_unchanged() const override { return file_->check_unchanged(); }
    int direct_descriptor() const override { return file_->direct_descriptor(); }
    int direct_refusal() const override { return file_->direct_refusal(); }

    Status accept(uint64_t offset, std::span<std::byte> bytes) const override {
        const size_t number = record_at(offset).number;
        if (seen_[number].load(std::memory_order_relaxed) && check_unchanged()) return {};
        if (hash_of(bytes) != hashes_[number]) return mend(offset, bytes);
        seen_[number].store(true, std::memory_order_relaxed);
        return {};
    }

    const ExpertRecords& model_records() const { return records_; }
    const Layout& layout() const { return layout_; }
    uint64_t n_mended() const { return n_mended_; }

 private:
    struct Record {
        size_t layer, number;
        int expert;
    };
    Record record_at(uint64_t offset) const {
        const auto after = std::upper_bound(layout_.places.begin(), layout_.places.end(), offset,
                                            [](uint64_t at, const Place& p) { return at < p.begin; });
        const Place& place = *std::prev(after);
        const uint64_t expert = (offset - place.begin) / place.stride;
        check(offset == place.begin + expert * place.stride, "a pack is read record by record");
        return {static_cast<size_t>(after - layout_.places.begin()) - 1, place.first + expert,
                static_cast<int>(expert)};
    }

    // Unless the name stands for another pack by now.
    void remove_name() const {
        const FileIdentity mine = file_->identity();
        struct stat named = {};
        if (::stat(path().c_str(), &named) != 0) return;
        if (named.st_dev == mine.device && named.st_ino == mine.inode) ::unlink(path().c_str());
    }

    Status mend(uint64_t offset, std::span<std::byte> to) const {
        const Record record = record_at(offset);
        if (n_mended_++ == 0) {
            log("mem",
                "{}: damaged or unreadable in expert {} of layer {}; the model file is read instead, and the "
                "next start "
                "copies "
                "anew",
                path_text(path()), record.expert, record.layer);
            remove_name();
        }
        for (const LoadRange& range :
             ranges_of(records_[record.layer], layout_.places[record.layer], record.expert, to.data()))
            if (Status s = range.file->read_at(range.offset, range.to); !s) return s;
        return {};
    }

    std::unique_ptr<File> file_;
    const ExpertRecords records_;  // in the model's own files
    const Layout layout_;
    const std::vector<uint64_t> hashes_;
    mutable std::vector<std::atomic<bool>> seen_;  // records that were right when they were read
    mutable std::atomic<uint64_t> n_mended_{0};
};

std::string ExpertPack::path_in(const std::string& folder, const std::string& model_path) {
    std::error_code failed;
    const std::filesystem::path absolute = std::filesystem::absolute(model_path, failed).lexically_normal();
    const std::string text = absolute.string();
    return fmt::format("{}/freetoken-{:016x}.pack", folder, XXH3_64bits(text.data(), text.size()));
}

uint64_t ExpertPack::bytes_of(const ExpertRecords& records) {
    const Layout layout = layout_of(records);
    return layout.table_begin + layout.table_bytes();
}

Status ExpertPack::write(const std::string& path, const ExpertRecords& records,
                         const std::function<void(uint64_t, uint64_t)>& progress) {
    auto file = OutputFile::create(path);
    if (!file) return file.error();
    const Layout layout = layout_of(records);
    if (Status s = PackWriter(*file, records, layout).run(progress); !s) return s;
    return file->commit();
}

Expected<ExpertPack> ExpertPack::open(const std::string& path, const ExpertRecords& records,
                                      const OpenFile& open_file) {
    auto file = open_file(path);
    if (!file) return file.error();
    Layout layout = layout_of(records);
    auto hashes = read_table(**file, records, layout);
    if (!hashes) return hashes.error();
    return ExpertPack(
        std::make_unique<PackFile>(std::move(*file), records, std::move(layout), std::move(*hashes)));
}

ExpertPack::ExpertPack(std::unique_ptr<PackFile> file) : file_(std::move(file)) {}
ExpertPack::ExpertPack(ExpertPack&&) noexcept = default;
ExpertPack& ExpertPack::operator=(ExpertPack&&) noexcept = default;
ExpertPack::~ExpertPack() = default;

ExpertRecords ExpertPack::records() const {
    ExpertRecords records = file_->model_records();
    for (size_t layer = 0; layer < records.size(); layer++) {
        const Place& place = file_->layout().places[layer];
        for (size_t i = 0; i < records[layer].stacks.size(); i++) {
            SliceStack& stack = records[layer].stacks[i];
            stack.file = file_.get();
            stack.offset = place.begin + place.at[i];
            stack.stride = place.stride;
        }
    }
    return records;
}

uint64_t ExpertPack::n_mended() const { return file_->n_mended(); }

}  // namespace ft
