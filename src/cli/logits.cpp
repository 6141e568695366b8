// freetoken logits: the logits of every position, for whoever wants to verify (docs/verify.md).
#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <vector>

#include "cli/load_engine.h"
#include "io/output_file.h"

namespace ft::cli {

namespace {

struct LogitsFlags {
    std::string ids, out, routes;
    int64_t chunk = 0;
    bool reference = false;
};

Expected<std::vector<int32_t>> read_ids(const std::string& path) {
    std::ifstream file(path);
    if (!file)
        return Error{Code::not_found, fmt::format("{}: the file of ids cannot be read", path),
                     "Name a file with --ids."};
    std::vector<int32_t> ids;
    std::string word;
    while (file >> word) {
        int32_t id = 0;
        const auto [end, status] = std::from_chars(word.data(), word.data() + word.size(), id);
        if (status != std::errc() || end != word.data() + word.size() || id < 0)
            return Error{Code::invalid, fmt::format("{}: '{}' is no token id", path, printable(word, 40)),
                         "Give whole numbers from 0 on, separated by white space."};
        ids.push_back(id);
    }
    if (ids.empty())
        return Error{Code::invalid, fmt::format("{}: the file is empty: it holds no ids", path),
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

Expected<int> write_logits(const ModelChoice& model, const LogitsFlags& flags) {
    for (const Status& s : {require_flag(flags.ids, "--ids FILE"), require_flag(flags.out, "-o FILE")})
        if (!s) return s.error();
    auto ids = read_ids(flags.ids);
    if (!ids) return ids.error();
    LoadOptions options = load_options(model);
    options.chunk = flags.chunk;
    options.reference = flags.reference;
    options.n_ctx_least = static_cast<int64_t>(ids->size());
    auto engine = load_engine(options);
    if (!engine) return engine.error();
    auto session = (*engine)->new_session();
    if (!session) return session.error();
    auto out = OutputFile::create(flags.out);
    if (!out) return out.error();
    std::optional<OutputFile> routes;
    Status route_status;
    if (!flags.routes.empty()) {
        auto created = OutputFile::create(flags.routes);
        if (!created) return created.error();
        routes.emplace(std::move(*created));
        (*session)->set_route_sink([&](const Route& route) {
            if (route_status) route_status = write_route(*routes, route);
        });
    }
    const Status fed = (*session)->feed_all(
        *ids, [&](std::span<const float> logits) { return out->write(std::as_bytes(logits)); });
    if (!fed) return fed.error();
    if (!route_status) return route_status.error();
    if (Status s = out->commit(); !s) return s.error();
    if (routes)
        if (Status s = routes->commit(); !s) return s.error();
    return 0;
}

}  // namespace

Action define_logits(CLI::App& app) {
    const auto model_flags = add_model_flags(app, Use::loading);
    const auto flags = std::make_shared<LogitsFlags>();
    app.add_option("--ids", flags->ids, "file of token ids, separated by white space")->type_name("FILE");
    app.add_option("-o,--output", flags->out, "file for the logits: f32 little-endian, position by position")
        ->type_name("FILE");
    app.add_option("--routes", flags->routes,
                   "file for the routes: lines `layer token expert …`, ids ascending")
        ->type_name("FILE");
    app.add_option("--chunk", flags->chunk, "tokens in one step (default 256); never changes a bit")
        ->check(CLI::Range(1, 65536));
    app.add_flag("--reference", flags->reference,
                 "reference backend: weights dequantised to f32, f32 activations and KV");
    return [=] {
        return with_model(*model_flags,
                          [&](const ModelChoice& model) { return write_logits(model, *flags); });
    };
}

}  // namespace ft::cli
