#include "cli/named_files.h"

#include "io/output_file.h"

namespace ft::cli {

namespace {

Status check_pair(const NamedFile& output, const NamedFile& other) {
    if (output.path.empty() || other.path.empty() || !is_same_file(output.path, other.path)) return {};
    return Error{
        Code::invalid,
        fmt::format("{}: {} and {} name the same file", path_text(output.path), output.role, other.role),
        fmt::format("Name another file by {}.", output.role)};
}

}  // namespace

std::vector<NamedFile> files_of(const ModelChoice& choice, const Gguf& model) {
    std::vector<NamedFile> files = {{"--config", choice.config_path}};
    if (choice.settings.has("model.template"))
        files.push_back({"--template", choice.settings.text("model.template")});
    for (const Gguf::Part& part : model.parts()) files.push_back({"the model", part.path});
    return files;
}

Status check_outputs(std::span<const NamedFile> outputs, std::span<const NamedFile> inputs) {
    for (size_t i = 0; i < outputs.size(); i++) {
        for (const NamedFile& input : inputs)
            if (Status s = check_pair(outputs[i], input); !s) return s;
        for (size_t j = 0; j < i; j++)
            if (Status s = check_pair(outputs[i], outputs[j]); !s) return s;
    }
    return {};
}

}  // namespace ft::cli
