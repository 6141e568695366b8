// One metadata value as the file holds it: its type and its payload bytes, decoded when somebody asks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace ft {

// The file's own numbers.
enum class ValueType : uint32_t {
    u8 = 0,
    i8 = 1,
    u16 = 2,
    i16 = 3,
    u32 = 4,
    i32 = 5,
    f32 = 6,
    boolean = 7,
    string = 8,
    array = 9,
    u64 = 10,
    i64 = 11,
    f64 = 12,
};
constexpr uint32_t k_value_types = 13;

// Bytes of a value, or of an array's element; 0 for strings and arrays, whose size is in the file.
constexpr size_t value_bytes(ValueType type) {
    constexpr size_t bytes[k_value_types] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return bytes[static_cast<uint32_t>(type)];
}

constexpr const char* value_type_name(ValueType type) {
    constexpr const char* names[k_value_types] = {"uint8",  "int8",    "uint16", "int16",  "uint32",
                                                  "int32",  "float32", "bool",   "string", "array",
                                                  "uint64", "int64",   "float64"};
    return names[static_cast<uint32_t>(type)];
}

struct Value {
    ValueType type = ValueType::u8;
    ValueType element = ValueType::u8;  // of an array
    uint64_t count = 1;                 // elements of an array
    // Numbers little-endian, one after the other. A string is its text; strings of an array are each a u64
    // length and the text.
    std::string bytes;
};

using Metadata = std::map<std::string, Value, std::less<>>;

}  // namespace ft
