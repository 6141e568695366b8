#include "gguf/tensor_data.h"

#include <algorithm>

#include "base/bytes.h"
#include "gguf/tensor_type.h"
#include "quant/types.h"

namespace ft {

namespace {

constexpr int64_t k_values_at_once = 256 * 1024;  // a multiple of every block

template <class T>
void convert(const std::byte* from, float* to, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        to[i] = static_cast<float>(load<T>(from + i * static_cast<int64_t>(sizeof(T))));
}

using Convert = void (*)(const std::byte* from, float* to, int64_t n);

Convert converter(uint32_t type) {
    if (const TypeInfo* info = find_type(type)) return info->dequantise;
    switch (type) {
        case 24:
            return &convert<int8_t>;
        case 25:
            return &convert<int16_t>;
        case 26:
            return &convert<int32_t>;
        case 27:
            return &convert<int64_t>;
        case 28:
            return &convert<double>;
        default:
            return nullptr;
    }
}

}  // namespace

Status read_tensor(const Gguf& gguf, const TensorInfo& tensor, const TakeValues& take) {
    const std::optional<TensorType> type = find_tensor_type(tensor.type);
    const Convert convert_values = converter(tensor.type);
    check(type && convert_values, "a tensor of an opened file has a known type");
    Expected<std::unique_ptr<File>> file = File::open(gguf.parts()[static_cast<size_t>(tensor.part)].path);
    if (!file) return file.error();
    if (Status s = gguf.check_part(tensor.part, **file); !s) return s;
    std::vector<std::byte> blocks;
    std::vector<float> values;
    uint64_t offset = tensor.offset;
    for (int64_t left = tensor.n_values(); left > 0;) {
        const int64_t n = std::min(left, k_values_at_once);
        blocks.resize(static_cast<size_t>(n / type->block_values * type->block_bytes));
        values.resize(static_cast<size_t>(n));
        if (Status s = (*file)->read_at(offset, blocks); !s) return s.error();
        convert_values(blocks.data(), values.data(), n);
        if (Status s = take(values); !s) return s.error();
        offset += blocks.size();
        left -= n;
    }
    return {};
}

}  // namespace ft
