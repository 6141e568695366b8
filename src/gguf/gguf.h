// A GGUF model file, or all parts of a split one, as its headers describe it: metadata by key and the list of
// tensors. Only headers are read, in a streamed way; no weight is touched. Everything that a damaged or
// hostile file could get wrong is checked here, so that users of tensors() may rely on: sizes match the type
// and the dims, ranges lie inside the file (unless Cut::allow), do not overlap, names are unique.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "gguf/value.h"
#include "io/file.h"

namespace ft {

struct TensorInfo {
    std::string name;
    uint32_t type = 0;                        // the file's number: quant/types.h, gguf/tensor_type.h
    std::array<int64_t, 4> dims{1, 1, 1, 1};  // dims[0] is contiguous (the row length); missing ones are 1
    int n_dims = 0;
    int part = 0;         // which of Gguf::parts() holds it
    uint64_t offset = 0;  // of the first byte, from the start of that part's file
    uint64_t bytes = 0;

    int64_t n_values() const { return dims[0] * dims[1] * dims[2] * dims[3]; }  // below 2^63, checked
};

class Gguf {
 public:
    struct Part {
        std::string path;
        uint64_t size_bytes = 0;
        uint64_t data_start = 0;  // where tensor data begins; past the end in a file that was cut there
        int version = 0;
        FileIdentity identity;
    };

    // An error where `file`, opened again, is not the one whose header was read: offsets would be another
    // file's.
    Status check_part(int part, const File& file) const;

    // refuse: a file whose data is cut short is an error. allow: it is opened, and missing_bytes() is above
    // 0. A file whose header is cut is an error either way.
    enum class Cut { refuse, allow };

    // Of a split model (NAME-00001-of-0000N.gguf) any part may be named; the metadata are those of the first.
    // Errors name the file, the key or tensor, and the byte.
    static Expected<Gguf> open(const std::string& path, Cut cut = Cut::refuse);
    static Expected<Gguf> open(const std::string& path, Cut cut, const OpenFile& open_file);

    Gguf(Gguf&&) = default;
    Gguf& operator=(Gguf&&) = default;

    // ---- metadata ----
    // A key that is missing gives `otherwise`, or without one an error that names the key (Code::not_found).
    // A value of another type is an error that names key and type (Code::invalid).
    bool has(std::string_view key) const { return metadata_.contains(key); }
    Expected<int64_t> get_int(std::string_view key,
                              std::optional<int64_t> otherwise = {}) const;  // any integer type
    Expected<double> get_float(std::string_view key,
                               std::optional<double> otherwise = {}) const;  // any number
    Expected<bool> get_bool(std::string_view key, std::optional<bool> otherwise = {}) const;
    Expected<std::string> get_string(std::string_view key, std::optional<std::string> otherwise = {}) const;

    // Arrays. A single number counts as an array of one.
    Expected<std::vector<int64_t>> get_ints(std::string_view key) const;  // integers, or bools as 0 and 1
    Expected<std::vector<float>> get_floats(std::string_view key) const;  // any numbers
    Expected<std::vector<std::string>> get_strings(std::string_view key) const;

    const Metadata& metadata() const { return metadata_; }
    std::string architecture() const;  // general.architecture; "" where it is absent or no string

    // ---- tensors ----
    const std::vector<TensorInfo>& tensors() const { return tensors_; }  // in the order of the files
    const TensorInfo* find_tensor(std::string_view name) const;          // nullptr: there is none

    // ---- files ----
    const std::vector<Part>& parts() const { return parts_; }
    const std::string& path() const { return parts_.front().path; }
    uint64_t file_bytes() const;                               // of all parts together
    uint64_t missing_bytes() const { return missing_bytes_; }  // by which all parts together are cut short

 private:
    Gguf() = default;
    Status add_part(const File& file, struct Header header, Cut cut);
    Status add_split(const std::string& path, std::unique_ptr<File> first, struct Header header, Cut cut,
                     const OpenFile& open_file);
    Expected<const Value*> find(std::string_view key) const;
    Error wrong_type(std::string_view key, const Value& value, std::string_view wanted) const;

    Metadata metadata_;
    std::vector<TensorInfo> tensors_;
    std::unordered_map<std::string, size_t> by_name_;
    std::vector<Part> parts_;
    uint64_t missing_bytes_ = 0;
};

}  // namespace ft
