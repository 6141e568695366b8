// freetoken tokenize: texts to ids, for checks against other tokenizers.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/ascii.h"
#include "cli/json_lines.h"
#include "cli/model_argument.h"
#include "gguf/gguf.h"
#include "text/tokenizer.h"

namespace ft::cli {

namespace {

using nlohmann::ordered_json;

Expected<std::string> bytes_of_hex(const std::string& hex) {
    std::string bytes;
    for (size_t i = 0; i + 1 < hex.size(); i += 2) {
        const int high = hex_digit(hex[i]), low = hex_digit(hex[i + 1]);
        if (high < 0 || low < 0)
            return Error{Code::invalid, "\"hex\" holds something that is no hexadecimal digit", ""};
        bytes.push_back(static_cast<char>(high * 16 + low));
    }
    if (hex.size() % 2 != 0) return Error{Code::invalid, "\"hex\" has an odd number of digits", ""};
    return bytes;
}

Expected<std::string> text_field(const ordered_json& line) {
    if (line.contains("text")) return line.at("text").get<std::string>();
    if (line.contains("hex")) return bytes_of_hex(line.at("hex").get<std::string>());
    return Error{Code::invalid, "the line has neither \"text\" nor \"hex\"", ""};
}

Expected<ordered_json> tokenize(const Tokenizer& tokenizer, const ordered_json& line) {
    const Expected<std::string> text = text_field(line);
    if (!text) return text.error();
    const Tokenizer::EncodeOptions options{.special = line.value("special", false),
                                           .add_special = line.value("bos", false)};
    return ordered_json{{"ids", tokenizer.encode(*text, options)}};
}

Expected<int> run_tokenize(const ModelArgument& model) {
    const auto path = needed_model(model, "tokenize");
    if (!path) return path.error();
    const auto file = Gguf::open(*path, Gguf::Cut::allow);
    if (!file) return file.error();
    const auto tokenizer = Tokenizer::load(*file);
    if (!tokenizer) return tokenizer.error();
    return answer_lines([&](const ordered_json& line) { return tokenize(**tokenizer, line); });
}

}  // namespace

Action define_tokenize(CLI::App& app) {
    const auto model = std::make_shared<ModelArgument>();
    add_model_argument(
        app, *model,
        "a GGUF file with a vocabulary, or a name of `freetoken list`. Standard input has a JSON object "
        "on each line: {\"text\", \"special\", \"bos\"}");
    return [model] { return run_tokenize(*model); };
}

}  // namespace ft::cli
