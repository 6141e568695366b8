// Any bytes as a GGUF file: opening, the getters and the summary must end in a value or an error.
#include <string>

#include "gguf/summary.h"
#include "io/memory_file.h"

namespace {

void ask_everything(const ft::Gguf& gguf) {
    for (const auto& [key, value] : gguf.metadata()) {
        (void)gguf.get_int(key);
        (void)gguf.get_float(key);
        (void)gguf.get_bool(key);
        (void)gguf.get_string(key);
        (void)gguf.get_ints(key);
        (void)gguf.get_floats(key);
        (void)gguf.get_strings(key);
    }
    for (const ft::TensorInfo& tensor : gguf.tensors())
        ft::check(tensor.n_values() >= 0 && gguf.find_tensor(tensor.name) == &tensor,
                  "tensors are found by name");
    const ft::Summary summary = ft::summarise(gguf);
    uint64_t by_role = 0;
    for (const uint64_t bytes : summary.bytes_by_role) by_role += bytes;
    ft::check(by_role == summary.tensor_bytes, "every tensor has one role");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string bytes(reinterpret_cast<const char*>(data), size);
    const auto open_file = [&](const std::string& path) -> ft::Expected<std::unique_ptr<ft::File>> {
        return std::unique_ptr<ft::File>(std::make_unique<ft::MemoryFile>(path, bytes));
    };
    for (const ft::Gguf::Cut cut : {ft::Gguf::Cut::refuse, ft::Gguf::Cut::allow}) {
        const ft::Expected<ft::Gguf> gguf = ft::Gguf::open("m-00001-of-00002.gguf", cut, open_file);
        if (gguf) ask_everything(*gguf);
        else ft::check(!gguf.error().what.empty(), "an error has a sentence");
    }
    return 0;
}
