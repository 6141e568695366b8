// freetoken show MODEL: what a model file is, from its header alone.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/model_argument.h"
#include "cli/named_files.h"
#include "cli/show_report.h"
#include "cli/standard_output.h"
#include "gguf/tensor_data.h"
#include "io/output_file.h"

namespace ft::cli {

namespace {

struct ShowArguments {
    ModelArgument model;
    bool json = false;
    bool tensors = false;
    std::string tensor;  // "" : the summary
    std::string output;
};

Expected<int> write_tensor(const Gguf& gguf, const ShowArguments& arguments) {
    const TensorInfo* tensor = gguf.find_tensor(arguments.tensor);
    if (tensor == nullptr) {
        return Error{Code::not_found,
                     fmt::format("{}: no tensor has the name '{}'", path_text(gguf.path()),
                                 printable(arguments.tensor)),
                     "`freetoken show MODEL --tensors` lists them."};
    }
    std::vector<NamedFile> inputs;
    for (const Gguf::Part& part : gguf.parts()) inputs.push_back({"the model", part.path});
    const NamedFile result[] = {{"-o", arguments.output}};
    if (Status s = check_outputs(result, inputs); !s) return s.error();
    Expected<OutputFile> output = OutputFile::create(arguments.output);
    if (!output) return output.error();
    const Status written = read_tensor(
        gguf, *tensor, [&](std::span<const float> values) { return output->write(std::as_bytes(values)); });
    if (!written) return written.error();
    if (Status s = output->commit(); !s) return s.error();
    return 0;
}

Expected<int> show(const ShowArguments& arguments) {
    if (arguments.tensor.empty() != arguments.output.empty()) {
        return Error{Code::invalid, "--tensor NAME and -o FILE belong together, one of them is missing",
                     "Write `freetoken show MODEL --tensor NAME -o OUT.f32`."};
    }
    const Expected<std::string> path = needed_model(arguments.model, "show");
    if (!path) return path.error();
    const Expected<Gguf> gguf = Gguf::open(*path, Gguf::Cut::allow);
    if (!gguf) return gguf.error();
    if (!arguments.tensor.empty()) return write_tensor(*gguf, arguments);
    const Summary summary = summarise(*gguf);
    if (arguments.json) write_out(show_json(*gguf, summary, arguments.tensors));
    else
        write_out(printable_lines(show_text(*gguf, summary) + (arguments.tensors ? tensor_text(*gguf) : "")));
    return 0;
}

}  // namespace

Action define_show(CLI::App& app) {
    const auto arguments = std::make_shared<ShowArguments>();
    add_model_argument(app, arguments->model,
                       "the model's GGUF file, of a split model any part; or a name of `freetoken list`");
    app.add_flag("--json", arguments->json, "print one JSON object; sizes in bytes");
    app.add_flag("--tensors", arguments->tensors, "list every tensor too");
    app.add_option("--tensor", arguments->tensor, "print nothing, but write this tensor's values into -o")
        ->type_name("NAME");
    app.add_option("-o,--output", arguments->output, "where --tensor writes: f32, little-endian, no header")
        ->type_name("FILE");
    return [arguments] { return show(*arguments); };
}

}  // namespace ft::cli
