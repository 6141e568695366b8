// Writes a GGUF file, version 3 or 2: for tests and tools. Keys and tensors stand in the order of the calls;
// tensors are placed one after the other at the alignment.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "gguf/value.h"

namespace ft {

template <class T>
concept GgufNumber = std::same_as<T, uint8_t> || std::same_as<T, int8_t> || std::same_as<T, uint16_t> ||
                     std::same_as<T, int16_t> || std::same_as<T, uint32_t> || std::same_as<T, int32_t> ||
                     std::same_as<T, uint64_t> || std::same_as<T, int64_t> || std::same_as<T, float> ||
                     std::same_as<T, double> || std::same_as<T, bool>;

template <GgufNumber T>
constexpr ValueType value_type_of() {
    if constexpr (std::same_as<T, bool>) return ValueType::boolean;
    else if constexpr (std::same_as<T, float>) return ValueType::f32;
    else if constexpr (std::same_as<T, double>) return ValueType::f64;
    else if constexpr (sizeof(T) == 1) return std::signed_integral<T> ? ValueType::i8 : ValueType::u8;
    else if constexpr (sizeof(T) == 2) return std::signed_integral<T> ? ValueType::i16 : ValueType::u16;
    else if constexpr (sizeof(T) == 4) return std::signed_integral<T> ? ValueType::i32 : ValueType::u32;
    else return std::signed_integral<T> ? ValueType::i64 : ValueType::u64;
}

class GgufWriter {
 public:
    explicit GgufWriter(uint32_t version = 3) : version_(version) {}

    // The C++ type decides the type in the file: add("a.count", uint32_t{8}).
    template <GgufNumber T>
    void add(std::string_view key, T value) {
        add_value(key, {value_type_of<T>(), ValueType::u8, 1, bytes_of(&value, 1)});
    }
    void add(std::string_view key, std::string_view text);
    template <GgufNumber T>
    void add_array(std::string_view key, std::span<const T> values) {
        add_value(key, {ValueType::array, value_type_of<T>(), values.size(),
                        bytes_of(values.data(), values.size())});
    }
    void add_array(std::string_view key, std::span<const std::string> texts);
    void add_value(std::string_view key, Value value);

    // Also writes the key general.alignment. A power of two.
    void set_alignment(uint32_t alignment);

    // dims[0] is the row length; `data` are the tensor's bytes in its type's layout.
    void add_tensor(std::string_view name, uint32_t type, std::span<const int64_t> dims,
                    std::span<const std::byte> data);

    std::string bytes() const;
    Status write(
        const std::string& path) const;  // errors name the path; a file that was there stays until the end

 private:
    struct Tensor {
        std::string name;
        uint32_t type;
        std::vector<int64_t> dims;
        std::string data;
    };

    template <class T>
    static std::string bytes_of(const T* values, size_t n) {
        return {reinterpret_cast<const char*>(values), n * sizeof(T)};
    }

    uint32_t version_;
    uint32_t alignment_ = 32;
    std::vector<std::pair<std::string, Value>> values_;
    std::vector<Tensor> tensors_;
};

}  // namespace ft
