#include <CLI/CLI.hpp>

#include "cli/model_argument.h"

#include "cli/model_name.h"

namespace ft::cli {

bool ModelArgument::has_argument() const {
    return argument_option != nullptr && argument_option->count() > 0;
}
bool ModelArgument::has_flag() const { return flag_option != nullptr && flag_option->count() > 0; }

void add_model_argument(CLI::App& app, ModelArgument& model, const std::string& help) {
    model.argument_option = app.add_option("model", model.argument, help)->type_name("MODEL.gguf");
    model.flag_option =
        app.add_option("-m,--model", model.flag, "the same as the argument MODEL.gguf")->type_name("FILE");
}

Expected<std::optional<std::string>> given_model(const ModelArgument& model) {
    if (!model.has_flag())
        return model.has_argument() ? std::optional(model.argument) : std::optional<std::string>();
    if (model.has_argument() && !model.may_be_other)
        return Error{Code::invalid,
                     fmt::format("the model is given twice, as the argument {} and by --model {}",
                                 printable(model.argument), printable(model.flag)),
                     "Leave one of them out."};
    return std::optional(model.flag);
}

Status add_model_to(Sources& sources, const ModelArgument& model) {
    const auto word = given_model(model);
    if (!word) return word.error();
    if (*word) sources.flags.push_back({find_key("model.path"), std::string(model.name()), **word});
    return {};
}

Expected<std::string> needed_model(const ModelArgument& model, std::string_view command) {
    const auto word = given_model(model);
    if (!word) return word.error().within(command);
    if (!*word || (*word)->empty())
        return Error{Code::invalid, fmt::format("{}: no model is named", command),
                     "Give the GGUF file as an argument, or a name of `freetoken list`."};
    return model_path(**word);
}

}  // namespace ft::cli
