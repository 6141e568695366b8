#include "gguf/writer.h"

#include <bit>

#include "base/bytes.h"
#include "io/output_file.h"

namespace ft {

namespace {

template <class T>
void append(std::string& out, T value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append_text(std::string& out, std::string_view text) {
    append<uint64_t>(out, text.size());
    out += text;
}

void append_value(std::string& out, const Value& value) {
    append(out, static_cast<uint32_t>(value.type));
    if (value.type == ValueType::string) append<uint64_t>(out, value.bytes.size());
    if (value.type == ValueType::array) {
        append(out, static_cast<uint32_t>(value.element));
        append(out, value.count);
    }
    out += value.bytes;
}

void pad(std::string& out, uint32_t alignment) { out.resize(round_up(out.size(), alignment), '\0'); }

}  // namespace

void GgufWriter::add(std::string_view key, std::string_view text) {
    add_value(key, {ValueType::string, ValueType::u8, 1, std::string(text)});
}

void GgufWriter::add_array(std::string_view key, std::span<const std::string> texts) {
    Value value{ValueType::array, ValueType::string, texts.size(), {}};
    for (const std::string& text : texts) append_text(value.bytes, text);
    add_value(key, std::move(value));
}

void GgufWriter::add_value(std::string_view key, Value value) { values_.emplace_back(key, std::move(value)); }

void GgufWriter::set_alignment(uint32_t alignment) {
    check(std::has_single_bit(alignment), "an alignment is a power of two");
    alignment_ = alignment;
    add("general.alignment", alignment);
}

void GgufWriter::add_tensor(std::string_view name, uint32_t type, std::span<const int64_t> dims,
                            std::span<const std::byte> data) {
    tensors_.push_back(
        {std::string(name), type, {dims.begin(), dims.end()}, bytes_of(data.data(), data.size())});
}

std::string GgufWriter::bytes() const {
    std::string out = "GGUF";
    append(out, version_);
    append<uint64_t>(out, tensors_.size());
    append<uint64_t>(out, values_.size());
    for (const auto& [key, value] : values_) {
        append_text(out, key);
        append_value(out, value);
    }
    uint64_t offset = 0;
    for (const Tensor& tensor : tensors_) {
        append_text(out, tensor.name);
        append(out, static_cast<uint32_t>(tensor.dims.size()));
        for (const int64_t dim : tensor.dims) append(out, dim);
        append(out, tensor.type);
        append(out, offset);
        offset += round_up(tensor.data.size(), alignment_);
    }
    pad(out, alignment_);
    for (const Tensor& tensor : tensors_) {
        out += tensor.data;
        pad(out, alignment_);
    }
    return out;
}

Status GgufWriter::write(const std::string& path) const {
    Expected<OutputFile> file = OutputFile::create(path);
    if (!file) return file.error();
    const std::string content = bytes();
    if (Status s = file->write(std::as_bytes(std::span(content))); !s) return s.error();
    return file->commit();
}

}  // namespace ft
