// freetoken logits: the logits of every position, for whoever wants to verify (docs/verify.md).
#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/read_text.h"
#include "cli/load_engine.h"
#include "cli/named_files.h"
#include "cli/numbers.h"
#include "io/output_file.h"

namespace ft::cli {

namespace {

constexpr uint64_t k_largest_ids_bytes = 64 * k_mib;

struct LogitsFlags {
    std::string ids, out, routes;
    int64_t chunk = 0;
    bool reference = false;
};

Expected<std::vector<int32_t>> read_ids(const std::string& path) {
    const Expected<std::string> text = read_text(path, k_largest_ids_bytes);
    if (!text) return text.error().within("--ids");
    constexpr std::string_view k_space = " \t\n\r\v\f";
    std::vector<int32_t> ids;
    for (size_t at = text->find_first_not_of(k_space); at < text->size();) {
        const size_t end = std::min(text->find_first_of(k_space, at), text->size());
        const std::string_view word = std::string_view(*text).substr(at, end - at);
        int32_t id = 0;
        const auto [last, status] = std::from_chars(word.data(), word.data() + word.size(), id);
        if (status != std::errc() || last != word.data() + word.size() || id < 0)
            return Error{Code::invalid,
                         fmt::format("{}: '{}' is no token id", path_text(path), printable(word, 40)),
                         "Give whole numbers from 0 on, separated by white space."};
        ids.push_back(id);
        at = text->find_first_not_of(k_space, end);
    }
    if (ids.empty())
        return Error{Code::invalid, fmt::format("{}: the file is empty: it holds no ids", path_text(path)),
                     "Give at least one id."};
    return ids;
}

Status write_route(OutputFile& file, const Route& route) {
    std::vector<int> ascending = route.experts;
    std::sort(ascending.begin(), ascending.end());
    std::string line = fmt::format("{} {}", route.layer, route.position);
    for (int expert : ascending) line += fmt::format(" {}", expert);
    line += '\n';
    return file.write(std::as_bytes(std::span(line)));
}

// The results of one call: they appear together.
struct Outputs {
    std::optional<OutputFile> logits, routes;
    Status route_status = {};

    Status create(const LogitsFlags& flags) {
        for (const auto& [path, file] : {std::pair(&flags.out, &logits), std::pair(&flags.routes, &routes)}) {
            if (path->empty()) continue;
            auto created = OutputFile::create(*path);
            if (!created) return created.error();
            file->emplace(std::move(*created));
        }
        return {};
    }
    Status commit() {
        if (!routes) return logits->commit();
        OutputFile* const both[] = {&*logits, &*routes};
        return commit_all(both);
    }
};

Status feed(Session& session, std::span<const int32_t> ids, Outputs& outputs) {
    if (outputs.routes)
        session.set_route_sink([&](const Route& route) {
            if (outputs.route_status) outputs.route_status = write_route(*outputs.routes, route);
        });
    const Status fed = session.feed_all(ids, [&](std::span<const float> logits) -> Status {
        if (!outputs.route_status) return outputs.route_status;
        return outputs.logits->write(std::as_bytes(logits));
    });
    return fed ? outputs.route_status : fed;
}

Expected<int> write_logits(const ModelChoice& model, const LogitsFlags& flags) {
    for (const Status& s :
         {require_flag(flags.ids, "logits", "--ids FILE"), require_flag(flags.out, "logits", "-o FILE")})
        if (!s) return s.error();
    auto ids = read_ids(flags.ids);
    if (!ids) return ids.error();
    Outputs outputs;
    LoadOptions options = load_options(model);
    options.chunk = flags.chunk;
    options.reference = flags.reference;
    options.n_ctx_least = static_cast<int64_t>(ids->size());
    options.before_weights = [&](const ModelOutline& outline) -> Status {
        if (Status s = outline.check_ids(*ids); !s) return s;
        std::vector<NamedFile> inputs = files_of(model, outline.file);
        inputs.push_back({"--ids", flags.ids});
        const NamedFile results[] = {{"-o", flags.out}, {"--routes", flags.routes}};
        if (Status s = check_outputs(results, inputs); !s) return s;
        return outputs.create(flags);
    };
    auto engine = load_engine(options);
    if (!engine) return engine.error();
    auto session = (*engine)->new_session();
    if (!session) return session.error();
    if (Status s = feed(**session, *ids, outputs); !s) return s.error();
    if (Status s = outputs.commit(); !s) return s.error();
    return 0;
}

}  // namespace

Action define_logits(CLI::App& app) {
    const auto model_flags = add_model_flags(app, Use::loading);
    const auto flags = std::make_shared<LogitsFlags>();
    app.add_option("--ids", flags->ids, "a file of token ids, separated by white space")->type_name("FILE");
    app.add_option("-o,--output", flags->out,
                   "the file for the logits: f32, little-endian, position by position")
        ->type_name("FILE");
    app.add_option("--routes", flags->routes,
                   "the file for the routes: lines `layer token expert …`, ids ascending")
        ->type_name("FILE");
    app.add_option("--chunk", flags->chunk,
                   "tokens of one step at most, which change no bit of the output (default: chosen by the "
                   "plan, at most 1024)")
        ->transform(whole_number(1, 65536));
    app.add_flag("--reference", flags->reference,
                 "reference backend: weights dequantised to f32, f32 activations and KV");
    app.get_option("--ctx")->description(
        "tokens that the context has room for (default: the smaller of the model's and 8192, or the number "
        "of ids where that is larger)");
    return [=] {
        return with_model(*model_flags,
                          [&](const ModelChoice& model) { return write_logits(model, *flags); });
    };
}

}  // namespace ft::cli
