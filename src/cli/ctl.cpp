// freetoken ctl: what a running server says of itself.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/read_text.h"
#include "cli/command.h"
#include "cli/json_text.h"
#include "cli/standard_output.h"
#include "http/http_get.h"

namespace ft::cli {

namespace {

struct CtlFlags {
    std::string what;
    std::string server = "http://127.0.0.1:8080";
    std::string key_file;
};

struct Question {
    std::string_view name, path, member;  // member: of the answer, where it is not all of it
};
constexpr Question k_questions[] = {
    {"health", "/health", ""},
    {"stats", "/v1/stats", ""},
    {"requests", "/v1/requests", "requests"},
    {"cache", "/v1/stats", "kv_cache"},
};
constexpr Seconds k_ctl_seconds = 10;

Expected<const Question*> question_of(const std::string& name) {
    for (const Question& question : k_questions)
        if (question.name == name) return &question;
    return Error{Code::invalid,
                 name.empty() ? std::string("ctl needs a question")
                              : fmt::format("ctl: {} is no question", printable(name)),
                 "There are health, stats, requests and cache."};
}

// The first key of the file, as a header.
Expected<std::vector<WebHeader>> key_headers(const std::string& path) {
    if (path.empty()) return std::vector<WebHeader>{};
    const Expected<std::string> text = ft::read_text(path, uint64_t{1} << 20);
    if (!text) return text.error().within("--key-file");
    const std::string key = text->substr(0, text->find_first_of("\r\n"));
    return std::vector<WebHeader>{{"Authorization", "Bearer " + key}};
}

Expected<int> ask_server(const CtlFlags& flags) {
    const Expected<const Question*> question = question_of(flags.what);
    if (!question) return question.error();
    const Expected<WebAddress> address = web_address(flags.server);
    if (!address) return address.error().within("--server");
    const Expected<std::vector<WebHeader>> headers = key_headers(flags.key_file);
    if (!headers) return headers.error();
    const Expected<WebReply> reply =
        http_get(*address, std::string((*question)->path), *headers, k_ctl_seconds);
    if (!reply) return reply.error();
    const auto body = nlohmann::ordered_json::parse(reply->body, nullptr, false);
    if (body.is_discarded())
        return Error{Code::not_found,
                     fmt::format("{} answers {}, but not in JSON", printable(flags.server), reply->status),
                     "Is that `freetoken serve`?"};
    if (reply->status == 401)
        return Error{Code::invalid, fmt::format("{} needs a key", printable(flags.server)),
                     "Name it by --key-file."};
    const std::string member((*question)->member);
    const bool part = !member.empty() && body.contains(member);
    write_out(json_text(part ? body[member] : body, 2));
    if (Status s = finish_output(); !s) return s.error();
    return reply->status == 200 ? 0 : 1;
}

}  // namespace

Action define_ctl(CLI::App& app) {
    const auto flags = std::make_shared<CtlFlags>();
    app.add_option("what", flags->what,
                   "health: whether it answers; stats: what runs and waits, and counts of tokens; requests: "
                   "the last answers with their times; cache: the memory of keys and values")
        ->type_name("WHAT");
    app.add_option("--server", flags->server, "the server's address (default: http://127.0.0.1:8080)")
        ->type_name("URL");
    app.add_option("--key-file", flags->key_file, "a file whose first line is a key of the server")
        ->type_name("FILE");
    return [=] { return ask_server(*flags); };
}

}  // namespace ft::cli
