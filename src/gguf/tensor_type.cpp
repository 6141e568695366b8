#include "gguf/tensor_type.h"

#include <fmt/format.h>

#include "quant/types.h"

namespace ft {

std::optional<TensorType> find_tensor_type(uint32_t number) {
    if (const TypeInfo* info = find_type(number))
        return TensorType{info->name, info->block_values, info->block_bytes};
    switch (number) {
        case 24:
            return TensorType{"I8", 1, 1};
        case 25:
            return TensorType{"I16", 1, 2};
        case 26:
            return TensorType{"I32", 1, 4};
        case 27:
            return TensorType{"I64", 1, 8};
        case 28:
            return TensorType{"F64", 1, 8};
        default:
            return std::nullopt;
    }
}

std::string tensor_type_name(uint32_t number) {
    const std::optional<TensorType> type = find_tensor_type(number);
    return type ? type->name : fmt::format("type {}", number);
}

}  // namespace ft
