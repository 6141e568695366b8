#include "model/tensor_binder.h"

#include <algorithm>
#include <charconv>

#include "base/bytes.h"

namespace ft {

namespace {

// Direct reads want file offset and address to agree modulo the drive's block; 4096 serves every drive seen.
constexpr uint64_t k_page = 4096;

std::string shape_text(const TensorInfo& t) {
    std::string text;
    for (int i = 0; i < std::max(1, t.n_dims); i++)
        text += fmt::format("{}{}", i == 0 ? "" : " x ", t.dims[i]);
    return text;
}

}  // namespace

Expected<WeightMemory> WeightMemory::reserve(const Gguf& file) {
    WeightMemory memory;
    for (const Gguf::Part& part : file.parts()) {
        const uint64_t first = part.data_start & ~(k_page - 1);
        auto map = MemoryMap::reserve(round_up(part.size_bytes, k_page) - first + k_page);
        if (!map) return map.error().within(part.path);
        memory.parts.push_back(std::move(*map));
        memory.first_byte.push_back(first);
    }
    return memory;
}

void WeightMemory::prefer_huge_pages(std::span<const LoadRange> ranges) {
    constexpr std::ptrdiff_t k_gap = 64 * 1024;  // of padding and small tensors that are not bound
    for (size_t i = 0; i < ranges.size();) {
        const std::byte* const begin = ranges[i].to.data();
        const std::byte* end = begin;
        while (i < ranges.size() && ranges[i].to.data() - end <= k_gap) {
            end = ranges[i].to.data() + ranges[i].to.size();
            i++;
        }
        for (MemoryMap& part : parts)
            if (begin >= part.data() && begin < part.data() + part.size())
                part.prefer_huge_pages(static_cast<size_t>(begin - part.data()),
                                       static_cast<size_t>(end - begin));
    }
}

std::string TensorBinder::full_name(std::string_view name) const {
    return layer_ < 0 ? std::string(name) : fmt::format("blk.{}.{}", layer_, name);
}

bool TensorBinder::has(std::string_view name) const {
    return file_.find_tensor(full_name(name) + ".weight") != nullptr;
}

const TensorInfo* TensorBinder::find(const std::string& name, bool required) {
    if (!status_) return nullptr;
    const TensorInfo* tensor = file_.find_tensor(name);
    if (tensor == nullptr && required)
        fail(Error{Code::invalid, fmt::format("the tensor {} is missing", name),
                   "The file is incomplete, or of a form of this architecture that is not known here."});
    return tensor;
}

bool TensorBinder::check_shape(const TensorInfo& t, int64_t n_col, int64_t n_row, int64_t n_matrix) {
    if (t.dims[0] == n_col && t.dims[1] == n_row && t.dims[2] == n_matrix && t.dims[3] == 1) return true;
    fail(Error{
        Code::invalid,
        fmt::format("the tensor {} has the shape {}, but {} x {} x {} was expected", t.name, shape_text(t),
                    n_col, n_row, n_matrix),
        "Its size and the model's keys disagree: the file is damaged or of a form that is not known here."});
    return false;
}

const TensorInfo* TensorBinder::take(const std::string& name, int64_t n_col, int64_t n_row, int64_t n_matrix,
                                     bool required) {
    const TensorInfo* tensor = find(name, required);
    if (tensor == nullptr || !check_shape(*tensor, n_col, n_row, n_matrix)) return nullptr;
    if (find_type(tensor->type) == nullptr) {
        fail(Error{
            Code::unsupported,
            fmt::format("the tensor {} has type number {}, which is no type of weights", name, tensor->type),
            "Use a file in one of the usual types, such as Q4_K_M or Q8_0."});
        return nullptr;
    }
    if (names_.insert(name).second) bound_.push_back(tensor);
    return tensor;
}

// The place of n values as f32, filled by convert().
const float* TensorBinder::f32_values(const TensorInfo& tensor, int64_t n) {
    memory_.converted.emplace_back(static_cast<size_t>(n));
    float* to = memory_.converted.back().data();
    const std::byte* from = memory_.at(tensor);
    const TypeInfo* type = find_type(tensor.type);
    conversions_.emplace_back([=] { type->dequantise(from, to, n); });
    return to;
}

Weight TensorBinder::bind_weight(std::string_view name, int64_t n_col, int64_t n_row, bool required) {
    const std::string base = full_name(name);
    const TensorInfo* tensor = take(base + ".weight", n_col, n_row, 1, required);
    if (tensor == nullptr) return {};
    const TypeInfo* type = find_type(tensor->type);
    Weight w{.type = type,
             .data = memory_.at(*tensor),
             .row_bytes = type->row_bytes(n_col),
             .n_col = n_col,
             .n_row = n_row};
    if (const TensorInfo* bias = take(base + ".bias", n_row, 1, 1, false)) w.bias = f32_values(*bias, n_row);
    if (const TensorInfo* scale = take(base + ".scale", 1, 1, 1, false)) w.scale = f32_values(*scale, 1);
    return w;
}

Weight TensorBinder::weight(std::string_view name, int64_t n_col, int64_t n_row) {
    return bind_weight(name, n_col, n_row, true);
}
Weight TensorBinder::optional_weight(std::string_view name, int64_t n_col, int64_t n_row) {
    return bind_weight(name, n_col, n_row, false);
}

ExpertStack TensorBinder::experts(std::string_view name, int64_t n_col, int64_t n_row, int n_expert) {
    const std::string base = full_name(name);
    const TensorInfo* tensor = take(base + ".weight", n_col, n_row, n_expert, true);
    if (tensor == nullptr) return {};
    const TypeInfo* type = find_type(tensor->type);
    ExpertStack stack;
    stack.first = Weight{.type = type,
                         .data = memory_.at(*tensor),
                         .row_bytes = type->row_bytes(n_col),
                         .n_col = n_col,
                         .n_row = n_row};
    stack.expert_bytes = stack.first.bytes();
    stack.tensor = tensor;
    if (const TensorInfo* scale = take(base + ".scale", n_expert, 1, 1, false))
        stack.scales = f32_values(*scale, n_expert);
    return stack;
}

Weight TensorBinder::weight_as_f32(std::string_view name, int64_t n_col, int64_t n_row) {
    const std::string full = full_name(name) + ".weight";
    // one row may be written as {n}, {n, 1}
    const TensorInfo* tensor = take(full, n_col, n_row, 1, true);
    if (tensor == nullptr) return {};
    const TypeInfo& f32 = type_info(QuantType::F32);
    Weight w{.type = &f32,
             .data = memory_.at(*tensor),
             .row_bytes = f32.row_bytes(n_col),
             .n_col = n_col,
             .n_row = n_row};
    if (find_type(tensor->type) != &f32)
        w.data = reinterpret_cast<const std::byte*>(f32_values(*tensor, n_col * n_row));
    return w;
}

void TensorBinder::vector(std::string_view full, int64_t n, Vector& out) {
    const TensorInfo* tensor = find(full_name(full), true);
    if (tensor == nullptr) return;
    // conv taps and the like have two dimensions; as values in a row they are n numbers
    if (tensor->n_values() != n) {
        check_shape(*tensor, n, 1, 1);
        return;
    }
    if (take(tensor->name, tensor->dims[0], tensor->dims[1], tensor->dims[2], true) == nullptr) return;
    out.resize(static_cast<size_t>(n));
    const std::byte* from = memory_.at(*tensor);
    const TypeInfo* type = find_type(tensor->type);
    conversions_.emplace_back([=, &out] { type->dequantise(from, out.data(), n); });
}

void TensorBinder::optional_vector(std::string_view full, int64_t n, Vector& out) {
    if (file_.find_tensor(full_name(full)) != nullptr) vector(full, n, out);
}

void TensorBinder::convert() {
    for (const auto& conversion : conversions_) conversion();
}

std::vector<std::string> TensorBinder::unused(int n_layer) const {
    std::vector<std::string> names;
    for (const TensorInfo& tensor : file_.tensors()) {
        // blocks of multi-token prediction come after the ones that run
        int block = -1;
        if (tensor.name.starts_with("blk."))
            std::from_chars(tensor.name.data() + 4, tensor.name.data() + tensor.name.size(), block);
        if (block < n_layer && !tensor.name.ends_with(".input_scale") && !names_.contains(tensor.name))
            names.push_back(tensor.name);
    }
    return names;
}

}  // namespace ft
