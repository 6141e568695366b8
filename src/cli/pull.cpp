// freetoken pull: a model from a hub, from Ollama's library or from any address, into the store
// (docs/verify.md).
#include <unistd.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "base/ascii.h"
#include "base/log.h"
#include "base/read_text.h"
#include "base/size_text.h"
#include "base/system_error.h"
#include "cli/interrupt.h"
#include "cli/model_flags.h"
#include "cli/model_name.h"
#include "cli/numbers.h"
#include "cli/plan_settings.h"
#include "cli/pull_fit.h"
#include "cli/pull_offer.h"
#include "cli/pull_progress.h"
#include "cli/serving_settings.h"
#include "cli/settings_flags.h"
#include "cli/standard_output.h"
#include "hub/quant_label.h"

namespace ft::cli {

namespace {

struct PullFlags {
    std::string source, quant, file;
    bool force = false, yes = false;
    int64_t connections = 4, retries = 5;
};

Expected<ModelSource> wanted_source(const PullFlags& flags, const HubServers& servers) {
    if (Status s = require_flag(flags.source, "pull", "OWNER/REPO"); !s) return s.error();
    auto source = parse_source(flags.source, servers);
    if (!source) return source;
    const bool chosen = !flags.quant.empty() || !flags.file.empty();
    if (chosen && source->kind != ModelSource::Kind::hub)
        return Error{Code::invalid, "--quant and --file choose a file of a repository, OWNER/REPO",
                     "An address names its file, and ollama:NAME:TAG its model: leave the flag out."};
    if (!flags.quant.empty() && !flags.file.empty())
        return Error{Code::invalid, "--quant and --file both choose the file", "Leave one of them out."};
    if (!flags.quant.empty()) source->quant = normal_label(flags.quant);
    if (!flags.file.empty()) source->file = flags.file;
    return source;
}

// What has to be given again to go on.
std::string pulled_words(const PullFlags& flags) {
    std::string words = flags.source;
    if (!flags.quant.empty()) words += " --quant " + flags.quant;
    if (!flags.file.empty()) words += " --file " + flags.file;
    return words;
}

// Asks on a terminal; without one nobody could answer, and the warning has been given.
bool user_wants_it(const PullFlags& flags) {
    if (flags.yes || flags.force || isatty(STDIN_FILENO) != 1 || isatty(STDERR_FILENO) != 1) return true;
    std::fputs("Download it all the same? [y/N] ", stderr);
    std::fflush(stderr);
    char answer[64] = "";
    const ssize_t got = read_waiting(STDIN_FILENO, answer, sizeof answer);
    return got > 0 && (answer[0] == 'y' || answer[0] == 'Y');
}

// Of what is asked before the download, as of the download itself.
Patience patience_of(const PullFlags& flags) {
    return {.retries = static_cast<int>(flags.retries),
            .on_pause = [](const std::string& why, Seconds pause) {
                log("pull", "{}; asking again in {:.1f} s", why, pause);
            }};
}

// False: the user does not want it after all.
Expected<bool> look_before(const PullOffer& offer, const HttpToken& token, const Settings& settings,
                           const PullFlags& flags) {
    const RemotePart& first = offer.parts.front();
    if (!first.ranges) {
        log("warn",
            "the server sends no parts of files, so that a break means beginning again, and whether the "
            "model fits "
            "this machine cannot be seen before it is here");
        return true;
    }
    const int64_t n_ctx = settings.has("kv_cache.max_context") ? settings.integer("kv_cache.max_context") : 0;
    const auto model = look_at_remote(first.url, token, {first.path, settings, n_ctx}, patience_of(flags));
    if (!model) return model.error();
    if (Status s = check_runs_here(*model, offer.name); !s && !flags.force) return s.error();
    if (model->plan && model->plan->fits)
        log("plan", "it fits this machine, {}",
            model->plan->experts_resident ? "with all of it in RAM"
                                          : "with experts read from the drive as they are needed");
    const std::vector<std::string> warnings = remote_warnings(*model);
    for (const std::string& warning : warnings) log("warn", "{}", warning);
    return warnings.empty() || user_wants_it(flags);
}

bool all_are_there(const PullOffer& offer) {
    return std::all_of(offer.parts.begin(), offer.parts.end(),
                       [](const RemotePart& part) { return access(part.path.c_str(), F_OK) == 0; });
}

// A path as it may stand in a YAML file: in quotes where it would be read as something else.
std::string pasted_path(const std::string& path) {
    const bool plain = std::all_of(path.begin(), path.end(), [](char c) {
        return is_ascii_letter(c) || is_ascii_digit(c) ||
               std::string_view("/._-+@").find(c) != std::string_view::npos;
    });
    return plain ? path : yaml_text(path, Kind::path);
}

Expected<int> fetch_offer(const PullOffer& offer, const HttpToken& token, const PullFlags& flags) {
    catch_interrupts();
    PullProgress progress;
    DownloadOptions options;
    options.connections = static_cast<int>(flags.connections);
    options.patience.retries = static_cast<int>(flags.retries);
    options.token = token;
    options.stop = [] { return interrupted().load(); };
    options.progress = [&](const DownloadProgress& now) { progress.show(now); };
    auto done = download(offer.parts, options);
    progress.end();
    if (!done) {
        Error error = done.error();
        if (error.code == Code::io && progress.last().fetched > 0)
            error.remedy += fmt::format("{}What was fetched is kept: the same command goes on.",
                                        error.remedy.empty() ? "" : " ");
        return error;
    }
    if (*done == Downloaded::stopped) {
        log("pull",
            "interrupted; what was fetched is kept. `freetoken pull {}` goes on, `freetoken rm` removes it",
            printable(pulled_words(flags)));
        return k_exit_interrupted;
    }
    const bool promised = std::all_of(offer.parts.begin(), offer.parts.end(),
                                      [](const RemotePart& part) { return !part.sha256.empty(); });
    log("pull", "{}{}", *done == Downloaded::now ? "done" : "it was there already",
        promised ? ", and has the SHA-256 that the server promises" : "; the server promises no digest");
    write_out(fmt::format("model.path: {}\n", pasted_path(offer.parts.front().path)));
    if (Status s = finish_output(); !s) return s.error();
    return 0;
}

Expected<int> pull_model(const Settings& settings, const PullFlags& flags) {
    if (Status s = check_memory_settings(settings); !s) return s.error();
    if (Status s = check_serving_settings(settings); !s) return s.error();
    const auto servers = hub_servers_of_environment();
    if (!servers) return servers.error();
    const auto source = wanted_source(flags, *servers);
    if (!source) return source.error();
    const auto store = store_folder(settings);
    if (!store) return store.error();
    const auto offer = find_offer(*source, *servers, *store, pulled_words(flags), patience_of(flags));
    if (!offer) return offer.error();
    log("pull", "{}: {}{}", printable(offer->name), size_text(offer->bytes()),
        offer->parts.size() > 1 ? fmt::format(" in {} files", offer->parts.size()) : "");
    const HttpToken token = source->kind == ModelSource::Kind::hub ? servers->token : HttpToken{};
    if (!all_are_there(*offer)) {
        const auto wanted = look_before(*offer, token, settings, flags);
        if (!wanted) return wanted.error();
        if (!*wanted) return 1;
    }
    const auto room = check_room(offer->parts);
    if (!room) return room.error();
    return fetch_offer(*offer, token, flags);
}

}  // namespace

Action define_pull(CLI::App& app) {
    const auto flags = std::make_shared<PullFlags>();
    app.add_option("source", flags->source,
                   "OWNER/REPO of a hub, ollama:NAME:TAG of Ollama's library, or the address of a GGUF file")
        ->type_name("SOURCE");
    app.add_option("--quant", flags->quant,
                   "which of a repository's files: q4_k_m, iq4_xs, q6_k … (default: q4_k_m)")
        ->type_name("TYPE");
    app.add_option("--file", flags->file, "which of a repository's files, by its name")->type_name("NAME");
    app.add_flag("--force", flags->force, "download what does not fit this machine too; asks nothing");
    app.add_flag("-y,--yes", flags->yes, "ask nothing after a warning");
    app.add_option("--connections", flags->connections, "parts that are fetched at a time (default: 4)")
        ->type_name("N")
        ->transform(whole_number(1, 16));
    app.add_option("--retries", flags->retries,
                   "failures in a row after which a request or a connection gives up (default: 5)")
        ->type_name("N")
        ->transform(whole_number(0, 100));
    const auto store_flags = add_store_flags(app);
    return [=] {
        return with_settings(*store_flags, store_flags->sources(),
                             [&](const Settings& settings) { return pull_model(settings, *flags); });
    };
}

}  // namespace ft::cli
