// Sizes and names of the tensor types that a file may hold: those this program computes with (quant/types.h)
// and the plain numbers that it can only list.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ft {

struct TensorType {
    const char* name;  // as users write it: "Q4_K", "I32"
    int block_values;  // values per block; a row is whole blocks
    int block_bytes;
};

// Nothing for numbers that are unknown, removed, or never stored in files.
std::optional<TensorType> find_tensor_type(uint32_t number);

// "Q4_K", or "type 99" where the number is unknown.
std::string tensor_type_name(uint32_t number);

}  // namespace ft
