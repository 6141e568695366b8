// A tensor's values as f32, piece by piece: for tools that look at single tensors. The engine loads weights
// itself.
#pragma once

#include <functional>
#include <span>

#include "gguf/gguf.h"

namespace ft {

using TakeValues = std::function<Status(std::span<const float> values)>;

// Reads `tensor` of `gguf` and hands all its values to `take` in order, in bounded memory. Quantised types
// are dequantised to the bit; integers and F64 are rounded to f32. Errors name the file; one of `take` ends
// the reading.
Status read_tensor(const Gguf& gguf, const TensorInfo& tensor, const TakeValues& take);

}  // namespace ft
