#include "gguf/gguf.h"

#include <algorithm>

#include "base/bytes.h"
#include "gguf/header.h"
#include "gguf/split.h"

namespace ft {

namespace {

constexpr uint32_t k_max_parts = 1024;

std::string base_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

bool is_integer(ValueType type) {
    switch (type) {
        case ValueType::f32:
        case ValueType::f64:
        case ValueType::boolean:
        case ValueType::string:
        case ValueType::array:
            return false;
        default:
            return true;
    }
}
bool is_number(ValueType type) {
    return is_integer(type) || type == ValueType::f32 || type == ValueType::f64;
}

// The integer (or bool) at `at`; nothing where a uint64 is beyond int64.
std::optional<int64_t> integer_at(ValueType type, const char* at) {
    switch (type) {
        case ValueType::u8:
        case ValueType::boolean:
            return load<uint8_t>(at);
        case ValueType::i8:
            return load<int8_t>(at);
        case ValueType::u16:
            return load<uint16_t>(at);
        case ValueType::i16:
            return load<int16_t>(at);
        case ValueType::u32:
            return load<uint32_t>(at);
        case ValueType::i32:
            return load<int32_t>(at);
        case ValueType::i64:
            return load<int64_t>(at);
        default: {
            const auto value = load<uint64_t>(at);
            return value > INT64_MAX ? std::nullopt : std::optional(static_cast<int64_t>(value));
        }
    }
}

double number_at(ValueType type, const char* at) {
    if (type == ValueType::f32) return load<float>(at);
    if (type == ValueType::f64) return load<double>(at);
    if (type == ValueType::u64) return static_cast<double>(load<uint64_t>(at));
    return static_cast<double>(*integer_at(type, at));
}

std::string type_text(const Value& value) {
    if (value.type != ValueType::array) return value_type_name(value.type);
    return fmt::format("an array of {}", value_type_name(value.element));
}

Error missing_parts(const std::string& path, const std::vector<std::string>& missing, uint32_t count) {
    std::string names;
    for (size_t i = 0; i < std::min<size_t>(missing.size(), 5); i++)
        names += (i == 0 ? "" : ", ") + path_text(base_name(missing[i]));
    if (missing.size() > 5) names += fmt::format(" and {} more", missing.size() - 5);
    return Error{Code::not_found,
                 fmt::format("{}: {} of the model's {} parts {} missing: {}", path_text(path), missing.size(),
                             count, missing.size() == 1 ? "is" : "are", names),
                 "Put all parts into one folder under their own names."};
}

}  // namespace

Expected<Gguf> Gguf::open(const std::string& path, Cut cut) { return open(path, cut, &File::open); }

Expected<Gguf> Gguf::open(const std::string& path, Cut cut, const OpenFile& open_file) {
    Expected<std::unique_ptr<File>> file = open_file(path);
    if (!file) return file.error();
    Expected<Header> header = read_header(**file);
    if (!header) return header.error();
    Gguf gguf;
    const bool split = header->metadata.contains("split.count");
    Status added = split ? gguf.add_split(path, std::move(*file), std::move(*header), cut, open_file)
                         : gguf.add_part(**file, std::move(*header), cut);
    if (!added) return added.error();
    return gguf;
}

// Takes over the tensors of one part, and the metadata of the first.
Status Gguf::add_part(const File& file, Header header, Cut cut) {
    const uint64_t missing =
        header.data_end > file.size() && !header.tensors.empty() ? header.data_end - file.size() : 0;
    if (missing > 0 && cut == Cut::refuse) {
        const auto last = std::max_element(
            header.tensors.begin(), header.tensors.end(),
            [](const TensorInfo& a, const TensorInfo& b) { return a.offset + a.bytes < b.offset + b.bytes; });
        return Error{
            Code::truncated,
            fmt::format("{}: tensor '{}' ends at byte {}, but the file has only {}: {} bytes are missing",
                        path_text(file.path()), printable(last->name), header.data_end, file.size(), missing),
            "The download or copy stopped early: get the file again."};
    }
    missing_bytes_ += missing;
    const int part = static_cast<int>(parts_.size());
    for (TensorInfo& tensor : header.tensors) {
        if (!by_name_.emplace(tensor.name, tensors_.size()).second) {
            return Error{
                Code::invalid,
                fmt::format(
                    "{}: tensor '{}' whose data begins at byte {} is a duplicate: the name is there twice",
                    path_text(file.path()), printable(tensor.name), tensor.offset),
                "The file is damaged: download or convert it again."};
        }
        tensor.part = part;
        tensors_.push_back(std::move(tensor));
    }
    if (part == 0) metadata_ = std::move(header.metadata);
    parts_.push_back({file.path(), file.size(), header.data_start, header.version, file.identity()});
    return {};
}

Status Gguf::check_part(int part, const File& file) const {
    const Part& known = parts_[static_cast<size_t>(part)];
    if (file.identity() == known.identity || file.identity() == FileIdentity{}) return {};
    return Error{
        Code::io,
        fmt::format("{}: the file was replaced or written to while it was opened", path_text(known.path)),
        "Start again with the file as it is now."};
}

namespace {

// What a part says about itself; the integers of the three split keys, -1 where one is absent or no integer.
struct SplitKeys {
    int64_t no = -1, count = -1, tensors = -1;
};

SplitKeys split_keys(const Metadata& metadata) {
    const auto value = [&](std::string_view key) -> int64_t {
        const auto found = metadata.find(key);
        if (found == metadata.end() || !is_integer(found->second.type)) return -1;
        return integer_at(found->second.type, found->second.bytes.data()).value_or(-1);
    };
    return {value("split.no"), value("split.count"), value("split.tensors.count")};
}

Error wrong_part(const std::string& path, std::string_view text, std::string_view remedy) {
    return Error{Code::invalid, fmt::format("{}: {}", path_text(path), text), std::string(remedy)};
}

}  // namespace

Status Gguf::add_split(const std::string& path, std::unique_ptr<File> first, Header header, Cut cut,
                       const OpenFile& open_file) {
    const SplitKeys own = split_keys(header.metadata);
    if (own.count == 0 || own.count == 1) return add_part(*first, std::move(header), cut);
    if (own.count < 0 || own.count > k_max_parts) {
        return wrong_part(path,
                          fmt::format("key 'split.count' is no number of parts from 1 to {}", k_max_parts),
                          "The file is damaged: download it again.");
    }
    const std::optional<SplitName> name = parse_split_name(path);
    if (!name || name->count != own.count) {
        return wrong_part(
            path,
            fmt::format("a part of a model in {} parts, whose name does not end in -{:05}-of-{:05}.gguf",
                        own.count, own.no + 1, own.count),
            "Give all parts their original names.");
    }
    std::vector<std::string> missing;
    std::vector<std::unique_ptr<File>> files;
    for (uint32_t part = 1; part <= name->count; part++) {
        Expected<std::unique_ptr<File>> file = open_file(name->of(part));
        if (file) files.push_back(std::move(*file));
        else if (file.error().code == Code::not_found) missing.push_back(name->of(part));
        else return file.error();
    }
    if (!missing.empty()) return missing_parts(path, missing, name->count);

    int64_t promised_tensors = -1;
    for (uint32_t part = 1; part <= name->count; part++) {
        const File& file = *files[part - 1];
        Expected<Header> part_header = read_header(file);
        if (!part_header) return part_header.error();
        const SplitKeys keys = split_keys(part_header->metadata);
        if (keys.no != part - 1 || keys.count != own.count) {
            return wrong_part(file.path(),
                              fmt::format("the file says it is part {} of {}, its name says part {} of {}",
                                          keys.no + 1, keys.count, part, own.count),
                              "Download this part again.");
        }
        if (part == 1) promised_tensors = keys.tensors;
        if (Status s = add_part(file, std::move(*part_header), cut); !s) return s.error();
    }
    if (promised_tensors >= 0 && static_cast<uint64_t>(promised_tensors) != tensors_.size()) {
        return wrong_part(parts_.front().path,
                          fmt::format("key 'split.tensors.count' promises {} tensors, the parts hold {}",
                                      promised_tensors, tensors_.size()),
                          "The parts do not belong together: download all of them again.");
    }
    return {};
}

// ---- getters ----

Expected<const Value*> Gguf::find(std::string_view key) const {
    const auto found = metadata_.find(key);
    if (found != metadata_.end()) return &found->second;
    return Error{Code::not_found, fmt::format("{}: key '{}' is missing", path_text(path()), key),
                 "The file is incomplete, or no model for this: convert or download it again."};
}

Error Gguf::wrong_type(std::string_view key, const Value& value, std::string_view wanted) const {
    return Error{Code::invalid,
                 fmt::format("{}: key '{}' is {}, not {}", path_text(path()), key, type_text(value), wanted),
                 "The file was not written correctly: convert or download it again."};
}

Expected<int64_t> Gguf::get_int(std::string_view key, std::optional<int64_t> otherwise) const {
    if (otherwise && !has(key)) return *otherwise;
    const Expected<const Value*> value = find(key);
    if (!value) return value.error();
    if (!is_integer((*value)->type)) return wrong_type(key, **value, "an integer");
    const std::optional<int64_t> number = integer_at((*value)->type, (*value)->bytes.data());
    if (!number) return wrong_type(key, **value, "below 2^63");
    return *number;
}

Expected<double> Gguf::get_float(std::string_view key, std::optional<double> otherwise) const {
    if (otherwise && !has(key)) return *otherwise;
    const Expected<const Value*> value = find(key);
    if (!value) return value.error();
    if (!is_number((*value)->type)) return wrong_type(key, **value, "a number");
    return number_at((*value)->type, (*value)->bytes.data());
}

Expected<bool> Gguf::get_bool(std::string_view key, std::optional<bool> otherwise) const {
    if (otherwise && !has(key)) return *otherwise;
    const Expected<const Value*> value = find(key);
    if (!value) return value.error();
    if ((*value)->type != ValueType::boolean) return wrong_type(key, **value, "a bool");
    return (*value)->bytes[0] != 0;
}

Expected<std::string> Gguf::get_string(std::string_view key, std::optional<std::string> otherwise) const {
    if (otherwise && !has(key)) return *otherwise;
    const Expected<const Value*> value = find(key);
    if (!value) return value.error();
    if ((*value)->type != ValueType::string) return wrong_type(key, **value, "a string");
    return (*value)->bytes;
}

Expected<std::vector<int64_t>> Gguf::get_ints(std::string_view key) const {
    const Expected<const Value*> found = find(key);
    if (!found) return found.error();
    const Value& value = **found;
    const ValueType type = value.type == ValueType::array ? value.element : value.type;
    if (!is_integer(type) && type != ValueType::boolean)
        return wrong_type(key, value, "an array of integers");
    std::vector<int64_t> numbers(value.count);
    for (uint64_t i = 0; i < value.count; i++) {
        const std::optional<int64_t> number = integer_at(type, value.bytes.data() + i * value_bytes(type));
        if (!number) return wrong_type(key, value, "below 2^63 everywhere");
        numbers[i] = *number;
    }
    return numbers;
}

Expected<std::vector<float>> Gguf::get_floats(std::string_view key) const {
    const Expected<const Value*> found = find(key);
    if (!found) return found.error();
    const Value& value = **found;
    const ValueType type = value.type == ValueType::array ? value.element : value.type;
    if (!is_number(type)) return wrong_type(key, value, "an array of numbers");
    std::vector<float> numbers(value.count);
    for (uint64_t i = 0; i < value.count; i++)
        numbers[i] = static_cast<float>(number_at(type, value.bytes.data() + i * value_bytes(type)));
    return numbers;
}

Expected<std::vector<std::string>> Gguf::get_strings(std::string_view key) const {
    const Expected<const Value*> found = find(key);
    if (!found) return found.error();
    const Value& value = **found;
    if (value.type != ValueType::array || value.element != ValueType::string)
        return wrong_type(key, value, "an array of strings");
    std::vector<std::string> strings(value.count);
    const char* at = value.bytes.data();
    for (std::string& text : strings) {
        const auto length = load<uint64_t>(at);
        text.assign(at + sizeof length, length);
        at += sizeof length + length;
    }
    return strings;
}

std::string Gguf::architecture() const {
    const Expected<std::string> text = get_string("general.architecture", "");
    return text ? *text : std::string();
}

uint64_t Gguf::file_bytes() const {
    uint64_t bytes = 0;
    for (const Part& part : parts_) bytes += part.size_bytes;
    return bytes;
}

const TensorInfo* Gguf::find_tensor(std::string_view name) const {
    const auto found = by_name_.find(std::string(name));
    return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

}  // namespace ft
