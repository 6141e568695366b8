#include "hub/source.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/ascii.h"
#include "hub/quant_label.h"
#include "hub/url.h"

namespace ft {

namespace {

constexpr std::string_view k_ollama = "ollama:";
constexpr size_t k_longest_name = 96;  // what hubs allow

std::string hub_variable(const char* name) {
    const char* text = std::getenv(name);
    return text != nullptr ? text : "";
}

std::string without_slash(std::string text) {
    while (text.ends_with('/')) text.pop_back();
    return text;
}

Error bad_source(std::string_view word, std::string_view why) {
    return Error{Code::invalid, fmt::format("{}: {}", printable(word), why),
                 "Write OWNER/REPO, ollama:NAME:TAG, or the address of a GGUF file."};
}

// A repository, an owner, a tag: what becomes a folder's or file's name.
bool is_plain_name(std::string_view name) {
    return !name.empty() && name.size() <= k_longest_name && name.front() != '.' && name.front() != '-' &&
           std::all_of(name.begin(), name.end(), [](char c) {
               return is_ascii_letter(c) || is_ascii_digit(c) || c == '-' || c == '_' || c == '.';
           });
}

Expected<ModelSource> ollama_source(const std::string& word) {
    std::string rest = word.substr(k_ollama.size());
    ModelSource source{
        .kind = ModelSource::Kind::ollama, .word = word, .owner = "library", .revision = "latest"};
    const size_t colon = rest.find(':');
    if (colon != std::string::npos) {
        source.revision = rest.substr(colon + 1);
        rest.erase(colon);
    }
    const size_t slash = rest.find('/');
    if (slash != std::string::npos) {
        source.owner = rest.substr(0, slash);
        rest.erase(0, slash + 1);
    }
    source.name = rest;
    if (!is_plain_name(source.owner) || !is_plain_name(source.name) || !is_plain_name(source.revision))
        return bad_source(word, "this is no name of Ollama's library");
    return source;
}

Expected<ModelSource> hub_source(const std::string& word) {
    std::string rest = without_hub_host(word);
    ModelSource source{.kind = ModelSource::Kind::hub, .word = word, .revision = "main"};
    const size_t colon = rest.find(':');
    if (colon != std::string::npos) {
        source.quant = normal_label(rest.substr(colon + 1));
        if (!is_plain_name(source.quant))
            return bad_source(word, "what follows the colon is no quantisation");
        rest.erase(colon);
    }
    const size_t slash = rest.find('/');
    if (slash == std::string::npos) return bad_source(word, "this is no OWNER/REPO");
    source.owner = rest.substr(0, slash);
    source.name = rest.substr(slash + 1);
    if (!is_plain_name(source.owner) || !is_plain_name(source.name))
        return bad_source(word, "this is no OWNER/REPO");
    return source;
}

// "OWNER/REPO/resolve/REVISION/FILE" below the hub's address; another page of it is an ordinary address.
Expected<ModelSource> hub_page_source(const std::string& word, const std::string& path) {
    std::vector<std::string> parts;
    std::string rest = path;
    for (size_t slash = 0; parts.size() < 4 && (slash = rest.find('/')) != std::string::npos;) {
        parts.push_back(rest.substr(0, slash));
        rest.erase(0, slash + 1);
    }
    parts.push_back(rest);
    ModelSource source{.kind = ModelSource::Kind::hub, .word = word, .revision = "main"};
    const bool has_file = parts.size() == 5 && (parts[2] == "resolve" || parts[2] == "blob");
    const bool is_file = parts.size() == 2 && parts[1].ends_with(".gguf");  // of a plain server
    if (parts.size() < 2 || is_file || (parts.size() > 2 && !has_file))
        return bad_source(word, "no file of a repository");
    source.owner = parts[0];
    source.name = parts[1];
    if (has_file) {
        source.revision = parts[3];
        source.file = parts[4];
    }
    if (!is_plain_name(source.owner) || !is_plain_name(source.name) || !is_plain_name(source.revision))
        return bad_source(word, "no file of a repository");
    return source;
}

}  // namespace

Expected<HubServers> hub_servers_of_environment() {
    HubServers servers;
    for (const char* name : {"HF_ENDPOINT", "FREETOKEN_HUB"})
        if (const std::string hub = hub_variable(name); !hub.empty()) {
            if (const auto url = parse_url(hub); !url) return url.error().within(name);
            servers.hub = without_slash(hub);
        }
    if (const std::string ollama = hub_variable("FREETOKEN_OLLAMA"); !ollama.empty()) {
        if (const auto url = parse_url(ollama); !url) return url.error().within("FREETOKEN_OLLAMA");
        servers.ollama = without_slash(ollama);
    }
    servers.token.text = hub_variable("HF_TOKEN");
    if (servers.token.text.empty()) return servers;
    const auto hub = parse_url(servers.hub);
    if (!hub) return hub.error();
    if (!hub->encrypted && !is_loopback(*hub))
        return Error{Code::invalid,
                     fmt::format("HF_TOKEN is set, and {} is not encrypted: others could read the token",
                                 printable(servers.hub)),
                     "Use an https address in FREETOKEN_HUB, or unset HF_TOKEN."};
    const bool sendable = std::all_of(servers.token.text.begin(), servers.token.text.end(),
                                      [](char c) { return c > ' ' && c < '\x7f'; });
    if (!sendable)
        return Error{Code::invalid, "HF_TOKEN holds characters that no token has",
                     "Set it again, without blanks."};
    servers.token.origin = hub->origin;
    return servers;
}

std::string without_hub_host(const std::string& word) {
    for (const std::string_view host : {"hf.co/", "huggingface.co/"})
        if (word.starts_with(host)) return word.substr(host.size());
    return word;
}

Expected<ModelSource> parse_source(const std::string& word, const HubServers& servers) {
    if (word.starts_with(k_ollama)) return ollama_source(word);
    if (!is_url(word)) return hub_source(word);
    const auto url = parse_url(word);
    if (!url) return url.error();
    const auto hub = parse_url(servers.hub + "/");
    if (hub && hub->origin == url->origin && url->path.starts_with(hub->path)) {
        auto source = hub_page_source(word, url->path.substr(hub->path.size()));
        if (source) return source;
    }
    return ModelSource{.kind = ModelSource::Kind::url, .word = word, .url = word};
}

}  // namespace ft
