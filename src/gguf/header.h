// The header of one GGUF file: what stands before the tensor data, checked against every rule for hostile
// files.
#pragma once

#include <vector>

#include "gguf/gguf.h"

namespace ft {

struct Header {
    int version = 0;
    Metadata metadata;
    std::vector<TensorInfo> tensors;  // offsets from the start of the file; part is 0
    uint64_t data_start = 0;
    uint64_t data_end = 0;  // end of the last tensor's bytes, or data_start; the file may be shorter
};

// Errors name the file, the key or tensor, and the byte. That the data may end early is left to the caller.
Expected<Header> read_header(const File& file);

}  // namespace ft
