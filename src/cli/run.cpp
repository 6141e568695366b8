#include "cli/command.h"

namespace ft::cli {

Action define_run(CLI::App& app) {
    const auto model = std::make_shared<std::string>();
    app.add_option("model", *model, "the GGUF file (any part of a split one)");
    return [model]() -> Expected<int> {
        return Error{Code::unsupported, fmt::format("{}: no answers yet", *model), ""};
    };
}

}  // namespace ft::cli
