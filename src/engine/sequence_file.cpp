#include "engine/sequence_file.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>

#include "io/file.h"
#include "io/output_file.h"

namespace ft {

namespace {

constexpr char k_sequence_magic[8] = {'F', 'T', 'S', 'E', 'Q', 0, 0, 0};
constexpr uint32_t k_version = 2;

struct SequenceHeader {
    char magic[8];
    uint32_t version, type_k, type_v, n_page;
    uint64_t model, n_id, page_bytes, state_bytes, note_bytes;

    uint64_t n_block() const { return static_cast<uint64_t>(kv_pages(static_cast<int64_t>(n_id))); }
    uint64_t body_begin() const {
        return sizeof(SequenceHeader) + n_id * sizeof(int32_t) + note_bytes + n_block();
    }
    uint64_t file_bytes() const {
        return body_begin() + n_page * page_bytes + state_bytes + sizeof(uint64_t);
    }
};
static_assert(sizeof(SequenceHeader) == 64);

class Sum {
 public:
    Sum() : state_(XXH3_createState(), &XXH3_freeState) { XXH3_64bits_reset(state_.get()); }
    void add(std::span<const std::byte> bytes) {
        XXH3_64bits_update(state_.get(), bytes.data(), bytes.size());
    }
    uint64_t value() const { return XXH3_64bits_digest(state_.get()); }

 private:
    std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state_;
};

SequenceHeader header_for(uint64_t model, uint64_t n_id, uint64_t n_page, uint64_t note_bytes,
                          const PagePool& pool, const RecurrentState& state) {
    SequenceHeader header{.magic = {},
                          .version = k_version,
                          .type_k = static_cast<uint32_t>(pool.shape().type_k),
                          .type_v = static_cast<uint32_t>(pool.shape().type_v),
                          .n_page = static_cast<uint32_t>(n_page),
                          .model = model,
                          .n_id = n_id,
                          .page_bytes = pool.page_bytes(),
                          .state_bytes = state.shape().bytes(),
                          .note_bytes = note_bytes};
    std::memcpy(header.magic, k_sequence_magic, sizeof k_sequence_magic);
    return header;
}

Error damaged(const std::string& path, std::string_view how) {
    return Error{Code::invalid, fmt::format("{}: no whole saved conversation: {}", printable(path), how),
                 "Save it again."};
}

Expected<SequenceHeader> read_header(const File& file, uint64_t model, const PagePool& pool,
                                     const RecurrentState& state) {
    const std::string& path = file.path();
    SequenceHeader header{};
    const size_t begun = std::min<size_t>(sizeof header, file.size());
    if (Status s = file.read_at(0, std::as_writable_bytes(std::span(&header, 1)).first(begun)); !s)
        return s.error();
    if (begun < sizeof header.magic ||
        std::memcmp(header.magic, k_sequence_magic, sizeof k_sequence_magic) != 0)
        return Error{Code::invalid, fmt::format("{}: this file is no saved conversation", printable(path)),
                     "Name one that /save has written."};
    if (begun < sizeof header) return damaged(path, "it is shorter than a header");
    const auto other = [&](std::string_view what, std::string_view remedy) {
        return Error{Code::invalid, fmt::format("{}: saved {}", printable(path), what), std::string(remedy)};
    };
    if (header.version != k_version)
        return other(fmt::format("as version {}, this program reads version {}", header.version, k_version),
                     "Use the program that saved it.");
    if (header.model != model) return other("with another model", "Load that model.");
    const SequenceHeader mine = header_for(model, header.n_id, header.n_page, header.note_bytes, pool, state);
    if (header.type_k != mine.type_k || header.type_v != mine.type_v ||
        header.page_bytes != mine.page_bytes || header.state_bytes != mine.state_bytes)
        return other("with other types of keys and values", "Choose the same kv_cache.quant.");
    if (header.n_id > file.size() || header.note_bytes > file.size() || header.file_bytes() != file.size())
        return damaged(path, fmt::format("it has {} bytes", file.size()));
    return header;
}

// The bytes between the list of blocks and the sum, in order.
template <class Memory, class Fn>
Status each_part(const PagePool& pool, Memory& memory, std::span<const uint8_t> held, Fn fn) {
    for (size_t block = 0; block < held.size(); block++)
        if (held[block] == 1)
            if (Status s = fn(pool.bytes(memory.kv.pages()[block])); !s) return s;
    for (const auto values : {memory.state.all_matrices(), memory.state.all_histories()})
        if (Status s = fn(std::span(values)); !s) return s;
    return {};
}

// A file of another kind is somebody's work.
Status check_replaceable(const std::string& path) {
    std::error_code failed;
    if (!std::filesystem::is_regular_file(path, failed)) return {};
    const auto file = File::open(path);
    if (!file) return file.error();
    char magic[sizeof k_sequence_magic] = {};
    if ((*file)->size() == 0) return {};
    if ((*file)->size() >= sizeof magic)
        if (Status s = (*file)->read_at(0, std::as_writable_bytes(std::span(magic))); !s) return s;
    if (std::memcmp(magic, k_sequence_magic, sizeof magic) == 0) return {};
    return Error{Code::invalid, fmt::format("{}: is there, and is no saved conversation", printable(path)),
                 "Choose another name."};
}

}  // namespace

std::vector<uint8_t> held_blocks(const KvSequence& kv, int64_t n_position) {
    std::vector<uint8_t> held;
    for (const int32_t page : kv.pages().first(static_cast<size_t>(kv_pages(n_position))))
        held.push_back(page >= 0 ? 1 : 0);
    return held;
}

uint64_t sequence_model_key(const Gguf& file) {
    uint64_t key = 0;
    for (const TensorInfo& tensor : file.tensors()) {
        key = XXH3_64bits_withSeed(tensor.name.data(), tensor.name.size(), key);
        const uint64_t numbers[] = {tensor.type, tensor.offset, tensor.bytes};
        key = XXH3_64bits_withSeed(numbers, sizeof numbers, key);
    }
    return key;
}

Status write_sequence(const std::string& path, uint64_t model, const SavedSequence& saved,
                      const PagePool& pool, const SequenceMemory& memory) {
    const std::vector<uint8_t> held = held_blocks(memory.kv, static_cast<int64_t>(saved.ids.size()));
    if (Status s = check_replaceable(path); !s) return s;
    auto file = OutputFile::create(path, 0600);
    if (!file) return file.error();
    Sum sum;
    const auto put = [&](auto values) -> Status {
        const auto bytes = std::as_bytes(values);
        sum.add(bytes);
        return file->write(bytes);
    };
    const auto n_page = static_cast<uint64_t>(std::ranges::count(held, 1));
    const SequenceHeader header =
        header_for(model, saved.ids.size(), n_page, saved.note.size(), pool, memory.state);
    if (Status s = put(std::span(&header, 1)); !s) return s;
    if (Status s = put(std::span(saved.ids)); !s) return s;
    if (Status s = put(std::span(saved.note)); !s) return s;
    if (Status s = put(std::span(held)); !s) return s;
    if (Status s = each_part(pool, memory, held, put); !s) return s;
    const uint64_t value = sum.value();
    if (Status s = file->write(std::as_bytes(std::span(&value, 1))); !s) return s;
    return file->commit();
}

Expected<SavedSequence> read_saved(const std::string& path, uint64_t model, const PagePool& pool,
                                   const RecurrentState& state) {
    auto file = File::open(path);
    if (!file) return file.error();
    auto header = read_header(**file, model, pool, state);
    if (!header) return header.error();
    SavedSequence saved{std::vector<int32_t>(header->n_id), std::string(header->note_bytes, '\0')};
    const auto ids = std::as_writable_bytes(std::span(saved.ids));
    if (Status s = (*file)->read_at(sizeof(SequenceHeader), ids); !s) return s.error();
    if (Status s = (*file)->read_at(sizeof(SequenceHeader) + ids.size(),
                                    std::as_writable_bytes(std::span(saved.note)));
        !s)
        return s.error();
    return saved;
}

Status read_sequence(const std::string& path, uint64_t model, const PagePool& pool, SequenceMemory& memory) {
    auto file = File::open(path);
    if (!file) return file.error();
    auto header = read_header(**file, model, pool, memory.state);
    if (!header) return header.error();
    Sum sum;
    uint64_t at = 0;
    const auto take = [&](std::span<std::byte> bytes) -> Status {
        if (Status s = (*file)->read_at(at, bytes); !s) return s;
        sum.add(bytes);
        at += bytes.size();
        return {};
    };
    std::vector<std::byte> before(header->body_begin());
    if (Status s = take(before); !s) return s;
    std::vector<uint8_t> held(header->n_block());
    std::transform(before.end() - static_cast<std::ptrdiff_t>(held.size()), before.end(), held.begin(),
                   [](std::byte b) { return std::to_integer<uint8_t>(b); });
    if (static_cast<uint64_t>(std::ranges::count(held, 1)) != header->n_page)
        return damaged(path, fmt::format("it does not list {} pages", header->n_page));
    if (!memory.kv.restore(held))
        return Error{Code::unsupported,
                     fmt::format("{}: saved with {} pages of keys and values, more than there is memory for",
                                 printable(path), header->n_page),
                     "Choose a longer context with --ctx, or leave kv_cache.sliding_window out."};
    const auto into = [&](auto values) { return take(std::as_writable_bytes(values)); };
    if (Status s = each_part(pool, memory, held, into); !s) return s;
    const uint64_t expected = sum.value();
    uint64_t written = 0;
    if (Status s = take(std::as_writable_bytes(std::span(&written, 1))); !s) return s;
    if (written != expected) return damaged(path, "its sum is not that of its bytes");
    return {};
}

}  // namespace ft
