// freetoken list: the models that are on this machine, by name (docs/verify.md).
#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/size_text.h"
#include "base/system_error.h"
#include "cli/command.h"
#include "cli/json_text.h"
#include "cli/model_name.h"
#include "cli/settings_flags.h"
#include "cli/standard_output.h"
#include "gguf/gguf.h"
#include "gguf/summary.h"

namespace ft::cli {

namespace {

// What a model's header says; all empty where it cannot be read.
struct ListedHeader {
    std::string architecture, quantisation;
    int64_t n_experts = 0, n_experts_used = 0;
    bool readable = false;
    bool is_model = true;  // no adapter, no tower for images
};

ListedHeader listed_header(const StoredModel& model) {
    ListedHeader header;
    if (!model.complete) return header;
    const auto file = Gguf::open(model.path(), Gguf::Cut::allow);
    if (!file) return header;
    const Summary summary = summarise(*file);
    header.architecture = summary.architecture;
    header.quantisation = summary.quantisation;
    header.n_experts = summary.n_experts;
    header.n_experts_used = summary.n_experts_used;
    header.is_model = summary.kind.empty() || summary.kind == "model";
    header.readable = true;
    return header;
}

std::string kind_text(const StoredModel& model, const ListedHeader& header) {
    if (!model.complete) {
        const double share =
            model.bytes == 0 ? 0 : 100.0 * static_cast<double>(model.done) / static_cast<double>(model.bytes);
        return fmt::format("unfinished, {:.0f} %", share);
    }
    if (!header.readable) return "not readable";
    return header.n_experts > 0 ? fmt::format("{} of {} experts", header.n_experts_used, header.n_experts)
                                : "dense";
}

nlohmann::ordered_json listed_json(const StoredModel& model, const ListedHeader& header) {
    return {{"name", model.name},
            {"path", model.path()},
            {"bytes", model.bytes},
            {"kept_by", keeper_name(model.keeper)},
            {"complete", model.complete},
            {"done_bytes", model.done},
            {"architecture", header.architecture},
            {"quantisation", header.quantisation},
            {"experts", {{"count", header.n_experts}, {"per_token", header.n_experts_used}}},
            {"files", model.files}};
}

// "NAME  SIZE  …", the first column as wide as its longest name.
std::string listed_rows(const std::vector<std::pair<StoredModel, ListedHeader>>& rows) {
    size_t width = 4;
    for (const auto& [model, header] : rows) width = std::max(width, printable(model.name).size());
    width = std::min<size_t>(width, 72);
    std::string text = fmt::format("{:<{}}  {:>11}  {:<10}  {:<18}  {}\n", "NAME", width, "SIZE", "QUANT",
                                   "KIND", "KEPT BY");
    for (const auto& [model, header] : rows)
        text += fmt::format("{:<{}}  {:>11}  {:<10}  {:<18}  {}\n", printable(model.name), width,
                            size_text(model.bytes), header.quantisation, kind_text(model, header),
                            keeper_name(model.keeper));
    return text;
}

std::string listed_text(const std::vector<std::pair<StoredModel, ListedHeader>>& rows,
                        const std::string& store) {
    std::string text = rows.empty() ? fmt::format(
                                          "There is no model in {}, and none of another program was found.\n"
                                          "`freetoken pull OWNER/REPO` gets one.\n",
                                          path_text(store))
                                    : listed_rows(rows);
    for (const auto& [model, header] : rows)
        if (!model.complete && !model.word.empty())
            text += fmt::format("\nunfinished: go on with `freetoken pull {}`", printable(model.word));
    return text.ends_with('\n') ? text : text + "\n";
}

Expected<int> list_models(const Settings& settings, bool json) {
    const auto store = store_folder(settings);
    if (!store) return store.error();
    auto models = known_models(settings);
    if (!models) return models.error();
    std::vector<std::pair<StoredModel, ListedHeader>> rows;
    nlohmann::ordered_json out = nlohmann::ordered_json::array();
    for (StoredModel& model : *models) {
        ListedHeader header = listed_header(model);
        if (!header.is_model && model.keeper != Keeper::ours) continue;
        out.push_back(listed_json(model, header));
        rows.emplace_back(std::move(model), std::move(header));
    }
    write_out(json ? json_text(out, 2) : printable_lines(listed_text(rows, *store)));
    if (Status s = finish_output(); !s) return s.error();
    return 0;
}

}  // namespace

Action define_list(CLI::App& app) {
    const auto json = std::make_shared<bool>(false);
    app.add_flag("--json", *json, "print one JSON array; sizes in bytes");
    const auto flags = add_store_flags(app);
    return [=] {
        return with_settings(*flags, flags->sources(),
                             [&](const Settings& settings) { return list_models(settings, *json); });
    };
}

}  // namespace ft::cli
