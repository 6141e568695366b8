#include "gguf/header.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/bytes.h"
#include "gguf/cursor.h"
#include "gguf/foreign.h"
#include "gguf/tensor_type.h"

namespace ft {

namespace {

// Far above every real file, low enough that a hostile one cannot make the reader take much memory or time.
constexpr uint64_t k_max_keys = 1 << 16;
constexpr uint64_t k_max_tensors = 1 << 18;
constexpr uint64_t k_max_metadata_bytes = 128 * k_mib;
constexpr uint64_t k_max_elements = 1 << 22;  // of an array; the longest real ones have some 600,000
constexpr uint64_t k_max_key_length = 65535;
constexpr uint64_t k_max_name_length = 255;
constexpr uint64_t k_min_key_bytes = 13;     // length, an empty key, type, one byte
constexpr uint64_t k_min_tensor_bytes = 24;  // length, an empty name, n_dims, type, offset

constexpr std::string_view k_damaged = "The file is damaged or cut short: download or convert it again.";
constexpr std::string_view k_cut_short = "It is cut short: download or copy it again.";

class HeaderParser {
 public:
    explicit HeaderParser(const File& file) : file_(file), cursor_(file) {}
    Expected<Header> parse();

 private:
    Status parse_version();
    Status parse_metadata(uint64_t count);
    Status parse_value(Value& value);
    Status parse_array(Value& value);
    Status parse_strings(Value& value);
    Status account(uint64_t bytes);
    Status take(Value& value, uint64_t bytes);
    Status check_bools(const Value& value);
    Status parse_alignment();
    Status parse_tensors(uint64_t count);
    Status parse_tensor(TensorInfo& tensor);
    Status parse_dims(TensorInfo& tensor);
    Status set_size(TensorInfo& tensor);
    Status place_tensors();
    Status check_overlaps();

    template <class T>
    Status read(T& value) {
        if (cursor_.remaining() < sizeof value) return ends_inside();
        return cursor_.read(&value, sizeof value);
    }
    Status read_text(std::string& text, uint64_t most, std::string_view what);

    // place_ and the byte stand in every message: "FILE: key 'x.y' at byte 123: TEXT".
    Error fail(std::string_view text, std::string_view remedy = k_damaged, Code code = Code::invalid) const {
        return Error{code,
                     fmt::format("{}: {} at byte {}: {}", path_text(file_.path()), place_, place_at_, text),
                     std::string(remedy)};
    }
    Error ends_inside() const {
        return fail(fmt::format("the file ends inside it, at byte {}", file_.size()), k_cut_short,
                    Code::truncated);
    }
    void at(std::string place) {
        place_ = std::move(place);
        place_at_ = cursor_.position();
    }

    const File& file_;
    Cursor cursor_;
    Header header_;
    uint64_t metadata_bytes_ = 0;
    uint64_t alignment_ = 32;
    std::string place_;
    uint64_t place_at_ = 0;
};

Expected<Header> HeaderParser::parse() {
    if (Status s = parse_version(); !s) return s.error();
    at("header");
    uint64_t n_tensors = 0;
    uint64_t n_keys = 0;
    if (Status s = read(n_tensors); !s) return s.error();
    if (Status s = read(n_keys); !s) return s.error();
    if (n_keys > k_max_keys || n_keys * k_min_key_bytes > cursor_.remaining())
        return fail(fmt::format("it announces {} keys, more than fit the file or the limit of {}", n_keys,
                                k_max_keys));
    if (n_tensors > k_max_tensors || n_tensors * k_min_tensor_bytes > cursor_.remaining())
        return fail(fmt::format("it announces {} tensors, more than fit the file or the limit of {}",
                                n_tensors, k_max_tensors));
    if (Status s = parse_metadata(n_keys); !s) return s.error();
    if (Status s = parse_alignment(); !s) return s.error();
    if (Status s = parse_tensors(n_tensors); !s) return s.error();
    if (Status s = place_tensors(); !s) return s.error();
    if (Status s = check_overlaps(); !s) return s.error();
    return std::move(header_);
}

Status HeaderParser::parse_version() {
    std::string beginning(std::min<uint64_t>(64, file_.size()), '\0');
    if (Status s = file_.read_at(0, std::as_writable_bytes(std::span(beginning))); !s) return s.error();
    if (!beginning.starts_with("GGUF")) return not_gguf(file_.path(), beginning);
    at("magic and version");
    uint32_t magic = 0;
    uint32_t version = 0;
    if (Status s = read(magic); !s) return s.error();
    if (Status s = read(version); !s) return s.error();
    if (version == 2 || version == 3) {
        header_.version = static_cast<int>(version);
        return {};
    }
    if (version != 0 && (version & 0xFFFF) == 0) {
        return Error{Code::unsupported, fmt::format("{}: a big-endian GGUF file", path_text(file_.path())),
                     "Download the little-endian file, or convert it to little-endian."};
    }
    const std::string what =
        fmt::format("{}: GGUF version {} is not supported", path_text(file_.path()), version);
    if (version <= 1) {
        return Error{Code::unsupported, what,
                     "Versions 2 and 3 are: download a current file, or convert the model again."};
    }
    return Error{Code::unsupported, what,
                 "Versions 2 and 3 are: this file is newer than the program, or damaged."};
}

Status HeaderParser::read_text(std::string& text, uint64_t most, std::string_view what) {
    uint64_t length = 0;
    if (Status s = read(length); !s) return s.error();
    if (length > most) return fail(fmt::format("{} of {} bytes, at most {} are allowed", what, length, most));
    if (length > cursor_.remaining()) return ends_inside();
    text.resize(length);
    return cursor_.read(text.data(), length);
}

Status HeaderParser::parse_metadata(uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        at(fmt::format("key {} of {}", i + 1, count));
        std::string key;
        if (Status s = read_text(key, k_max_key_length, "a name"); !s) return s.error();
        if (key.empty()) return fail("its name is empty");
        place_ = fmt::format("key '{}'", printable(key));
        if (Status s = account(key.size()); !s) return s.error();
        Value value;
        if (Status s = parse_value(value); !s) return s.error();
        if (!header_.metadata.emplace(std::move(key), std::move(value)).second)
            return fail("duplicate: the same key stands in the file twice");
    }
    return {};
}

Status HeaderParser::parse_value(Value& value) {
    uint32_t type = 0;
    if (Status s = read(type); !s) return s.error();
    if (type >= k_value_types) return fail(fmt::format("unknown value type {}", type));
    value.type = static_cast<ValueType>(type);
    if (value.type == ValueType::array) return parse_array(value);
    uint64_t bytes = value_bytes(value.type);
    if (value.type == ValueType::string) {
        if (Status s = read(bytes); !s) return s.error();
    }
    if (Status s = take(value, bytes); !s) return s.error();
    return value.type == ValueType::boolean ? check_bools(value) : Status();
}

Status HeaderParser::parse_array(Value& value) {
    uint32_t element = 0;
    if (Status s = read(element); !s) return s.error();
    if (Status s = read(value.count); !s) return s.error();
    if (element >= k_value_types) return fail(fmt::format("an array of unknown value type {}", element));
    value.element = static_cast<ValueType>(element);
    if (value.count > k_max_elements)
        return fail(fmt::format("an array of {} {}, at most {} elements are allowed", value.count,
                                value_type_name(value.element), k_max_elements));
    if (value.element == ValueType::array) return fail("an array of arrays, which is not supported");
    if (value.element == ValueType::string) return parse_strings(value);
    const uint64_t size = value_bytes(value.element);
    if (value.count > cursor_.remaining() / size) {
        return fail(fmt::format("an array of {} {} is larger than the {} bytes that remain", value.count,
                                value_type_name(value.element), cursor_.remaining()));
    }
    if (Status s = take(value, value.count * size); !s) return s.error();
    return value.element == ValueType::boolean ? check_bools(value) : Status();
}

// Vocabularies have 250,000 of them, so this appends to one block of bytes instead of making strings.
Status HeaderParser::parse_strings(Value& value) {
    if (value.count > cursor_.remaining() / sizeof(uint64_t)) {
        return fail(fmt::format("an array of {} strings is larger than the {} bytes that remain", value.count,
                                cursor_.remaining()));
    }
    if (Status s = account(value.count * sizeof(uint64_t)); !s) return s.error();
    for (uint64_t i = 0; i < value.count; i++) {
        uint64_t length = 0;
        if (Status s = read(length); !s) return s.error();
        if (length > cursor_.remaining()) {
            return fail(fmt::format("string {} of {} has {} bytes, but only {} remain", i, value.count,
                                    length, cursor_.remaining()));
        }
        value.bytes.append(reinterpret_cast<const char*>(&length), sizeof length);
        if (Status s = take(value, length); !s) return s.error();
    }
    value.bytes.shrink_to_fit();
    return {};
}

// Counts what will be kept in memory, before it is read.
Status HeaderParser::account(uint64_t bytes) {
    if (bytes <= k_max_metadata_bytes - metadata_bytes_) {
        metadata_bytes_ += bytes;
        return {};
    }
    return fail(fmt::format("the metadata have over {} MiB, the limit", k_max_metadata_bytes / k_mib),
                "The file is damaged, or made for something else than a model.", Code::too_large);
}

// Appends the next `bytes` bytes to the value.
Status HeaderParser::take(Value& value, uint64_t bytes) {
    if (bytes > cursor_.remaining())
        return fail(fmt::format("a value of {} bytes, but only {} remain", bytes, cursor_.remaining()));
    if (Status s = account(bytes); !s) return s.error();
    const size_t before = value.bytes.size();
    value.bytes.resize(before + bytes);
    return cursor_.read(value.bytes.data() + before, bytes);
}

Status HeaderParser::check_bools(const Value& value) {
    const auto wrong =
        std::find_if(value.bytes.begin(), value.bytes.end(), [](char c) { return c != 0 && c != 1; });
    if (wrong == value.bytes.end()) return {};
    return fail(
        fmt::format("a bool of value {}, only 0 and 1 are allowed", static_cast<unsigned char>(*wrong)));
}

Status HeaderParser::parse_alignment() {
    const auto found = header_.metadata.find("general.alignment");
    if (found == header_.metadata.end()) return {};
    at("key 'general.alignment' in the metadata that end");
    if (found->second.type != ValueType::u32)
        return fail(fmt::format("it must be uint32, not {}", value_type_name(found->second.type)));
    alignment_ = load<uint32_t>(found->second.bytes.data());
    if (!std::has_single_bit(alignment_))
        return fail(fmt::format("an alignment of {} is no power of two", alignment_));
    return {};
}

Status HeaderParser::parse_tensors(uint64_t count) {
    header_.tensors.reserve(count);
    for (uint64_t i = 0; i < count; i++) {
        at(fmt::format("tensor {} of {}", i + 1, count));
        TensorInfo tensor;
        if (Status s = read_text(tensor.name, k_max_name_length, "a name"); !s) return s.error();
        if (tensor.name.empty()) return fail("its name is empty");
        place_ = fmt::format("tensor '{}'", printable(tensor.name));
        if (Status s = parse_tensor(tensor); !s) return s.error();
        header_.tensors.push_back(std::move(tensor));
    }
    return {};
}

Status HeaderParser::parse_tensor(TensorInfo& tensor) {
    if (Status s = parse_dims(tensor); !s) return s.error();
    if (Status s = read(tensor.type); !s) return s.error();
    if (Status s = read(tensor.offset); !s) return s.error();
    if (Status s = set_size(tensor); !s) return s.error();
    if (tensor.offset % alignment_ != 0)
        return fail(
            fmt::format("its offset {} is not a multiple of the alignment {}", tensor.offset, alignment_));
    return {};
}

Status HeaderParser::parse_dims(TensorInfo& tensor) {
    uint32_t n_dims = 0;
    if (Status s = read(n_dims); !s) return s.error();
    if (n_dims > tensor.dims.size())
        return fail(fmt::format("it has {} dims, at most 4 are allowed", n_dims));
    tensor.n_dims = static_cast<int>(n_dims);
    for (uint32_t i = 0; i < n_dims; i++) {
        uint64_t dim = 0;
        if (Status s = read(dim); !s) return s.error();
        if (dim > INT64_MAX) return fail(fmt::format("its dim {} is {}, which is too large", i, dim));
        tensor.dims[i] = static_cast<int64_t>(dim);
    }
    return {};
}

Status HeaderParser::set_size(TensorInfo& tensor) {
    const std::optional<TensorType> type = find_tensor_type(tensor.type);
    if (!type) {
        return fail(
            fmt::format("its type has the number {}, which is unknown, removed, or another program's own",
                        tensor.type),
            "Use a file with a usual quantisation, such as Q4_K_M.", Code::unsupported);
    }
    if (tensor.dims[0] % type->block_values != 0) {
        return fail(fmt::format("its rows of {} values are not whole blocks of {} ({})", tensor.dims[0],
                                type->block_values, type->name));
    }
    // The product without the zeros among the dims must fit too, so that no later product of some of them
    // wraps.
    uint64_t product = 1;
    bool empty = false;
    for (const int64_t dim : tensor.dims) {
        empty = empty || dim == 0;
        const std::optional<uint64_t> next =
            checked_mul(product, static_cast<uint64_t>(std::max<int64_t>(dim, 1)));
        if (!next || *next > INT64_MAX) return fail("the product of its dims overflows 63 bits");
        product = *next;
    }
    if (empty) return {};
    const auto block_values = static_cast<uint64_t>(type->block_values);
    const std::optional<uint64_t> bytes =
        checked_mul(product / block_values, static_cast<uint64_t>(type->block_bytes));
    if (!bytes) return fail("its size in bytes overflows 64 bits");
    tensor.bytes = *bytes;
    return {};
}

// Offsets in the file count from the data section, ours from the start of the file.
Status HeaderParser::place_tensors() {
    header_.data_start = round_up(cursor_.position(), alignment_);
    header_.data_end = header_.data_start;
    for (TensorInfo& tensor : header_.tensors) {
        const std::optional<uint64_t> start = checked_add(header_.data_start, tensor.offset);
        const std::optional<uint64_t> end = start ? checked_add(*start, tensor.bytes) : std::nullopt;
        if (!end || *end > INT64_MAX) {
            at(fmt::format("tensor '{}' in the list that ends", printable(tensor.name)));
            return fail(
                fmt::format("its offset {} with its {} bytes overflows", tensor.offset, tensor.bytes));
        }
        tensor.offset = *start;
        header_.data_end = std::max(header_.data_end, *end);
    }
    return {};
}

Status HeaderParser::check_overlaps() {
    std::vector<const TensorInfo*> order;
    for (const TensorInfo& tensor : header_.tensors)
        if (tensor.bytes > 0) order.push_back(&tensor);
    std::sort(order.begin(), order.end(),
              [](const TensorInfo* a, const TensorInfo* b) { return a->offset < b->offset; });
    for (size_t i = 1; i < order.size(); i++) {
        const TensorInfo& before = *order[i - 1];
        if (before.offset + before.bytes <= order[i]->offset) continue;
        return Error{Code::invalid,
                     fmt::format("{}: tensors '{}' and '{}' overlap at byte {}", path_text(file_.path()),
                                 printable(before.name), printable(order[i]->name), order[i]->offset),
                     std::string(k_damaged)};
    }
    return {};
}

}  // namespace

Expected<Header> read_header(const File& file) { return HeaderParser(file).parse(); }

}  // namespace ft
