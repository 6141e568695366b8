// freetoken detokenize: ids to texts, for checks against other tokenizers.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "cli/json_lines.h"
#include "cli/model_argument.h"
#include "gguf/gguf.h"
#include "text/tokenizer.h"

namespace ft::cli {

namespace {

using nlohmann::ordered_json;

std::string hex_of(std::string_view bytes) {
    std::string hex;
    for (const char c : bytes) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
    return hex;
}

Expected<ordered_json> detokenize(const Tokenizer& tokenizer, const ordered_json& line) {
    std::vector<int32_t> ids;
    if (!line.at("ids").is_array()) return Error{Code::invalid, "\"ids\" is no array", ""};
    for (const ordered_json& value : line.at("ids")) {
        if (!value.is_number_integer())
            return Error{Code::invalid, "\"ids\" holds something that is no whole number", ""};
        const bool inside = value.is_number_unsigned()
                                ? value.get<uint64_t>() < static_cast<uint64_t>(tokenizer.vocab_size())
                                : value.get<int64_t>() >= 0 && value.get<int64_t>() < tokenizer.vocab_size();
        if (!inside)
            return Error{Code::invalid,
                         fmt::format("id {} is outside the vocabulary of {} tokens", value.dump(),
                                     tokenizer.vocab_size()),
                         ""};
        ids.push_back(value.get<int32_t>());
    }
    const std::string bytes = tokenizer.decode(ids, line.value("special", true));
    if (is_utf8(bytes)) return ordered_json{{"text", bytes}};
    return ordered_json{{"hex", hex_of(bytes)}};
}

Expected<int> run_detokenize(const ModelArgument& model) {
    const auto path = needed_model(model, "detokenize");
    if (!path) return path.error();
    const auto file = Gguf::open(*path, Gguf::Cut::allow);
    if (!file) return file.error();
    const auto tokenizer = Tokenizer::load(*file);
    if (!tokenizer) return tokenizer.error();
    return answer_lines([&](const ordered_json& line) { return detokenize(**tokenizer, line); });
}

}  // namespace

Action define_detokenize(CLI::App& app) {
    const auto model = std::make_shared<ModelArgument>();
    add_model_argument(
        app, *model,
        "a GGUF file with a vocabulary, or a name of `freetoken list`. Standard input has a JSON object "
        "on each line: {\"ids\", \"special\"}");
    return [model] { return run_detokenize(*model); };
}

}  // namespace ft::cli
