#include "hub/listing.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/ascii.h"
#include "base/bytes.h"
#include "gguf/split.h"
#include "hub/quant_label.h"
#include "hub/sha256.h"
#include "hub/url.h"

namespace ft {

namespace {

using Json = nlohmann::json;

constexpr uint64_t k_most_page_bytes = 4 * k_mib;  // some ten thousand files
constexpr int k_most_pages = 50;
constexpr size_t k_most_listed_files = 20'000;
constexpr size_t k_longest_path = 700, k_longest_component = 200;
constexpr long k_list_seconds = 120;
constexpr uint64_t k_most_parts = 10'000;
constexpr size_t k_most_shown = 6;  // choices in a sentence

Error bad_answer(std::string_view what) {
    return Error{Code::invalid, fmt::format("the server's list {}", what),
                 "This is no server of models, or it is broken: check its address."};
}

// Parsing and freeing do not call themselves, so that depth is no danger; size is bounded by the caller.
Expected<Json> parse_answer(std::string_view text) {
    Json json = Json::parse(text, nullptr, false);
    if (json.is_discarded()) return bad_answer("is no JSON");
    return json;
}

std::string text_member(const Json& object, const char* name) {
    const auto at = object.find(name);
    return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

// Nothing where it is no size that a model can have.
std::optional<uint64_t> size_member(const Json& object, const char* name) {
    const auto at = object.find(name);
    if (at == object.end() || !at->is_number_unsigned()) return std::nullopt;
    const uint64_t bytes = at->get<uint64_t>();
    if (bytes == 0 || bytes > k_largest_model_bytes) return std::nullopt;
    return bytes;
}

// Towers for images, calibration data and adapters are GGUF files too.
bool may_be_model(std::string_view path) {
    const std::string name = ascii_lower(path.substr(path.rfind('/') + 1));
    if (!name.ends_with(".gguf")) return false;
    for (const std::string_view other : {"mmproj", "imatrix", "lora"})
        if (name.find(other) != std::string::npos) return false;
    return true;
}

bool is_other_weight(std::string_view path) {
    for (const std::string_view end : {".safetensors", ".bin", ".pt", ".pth"})
        if (path.ends_with(end)) return true;
    return false;
}

Status add_entry(const Json& entry, Repository& repository) {
    if (!entry.is_object()) return bad_answer("holds something that is no file");
    const std::string path = text_member(entry, "path");
    if (text_member(entry, "type") != "file") return {};
    repository.has_other_weights = repository.has_other_weights || is_other_weight(path);
    if (!may_be_model(path)) return {};
    if (Status s = check_remote_path(path); !s) return s;
    const auto bytes = size_member(entry, "size");
    if (!bytes) return bad_answer(fmt::format("gives {} a size that no model has", printable(path)));
    ListedFile file{path, *bytes};
    const auto lfs = entry.find("lfs");
    if (lfs != entry.end() && lfs->is_object()) {
        file.sha256 = text_member(*lfs, "oid");
        if (file.sha256.starts_with("sha256:")) file.sha256.erase(0, 7);
        if (!is_sha256(file.sha256))
            return bad_answer(fmt::format("gives {} a digest that is none", printable(path)));
        if (size_member(*lfs, "size") != bytes)
            return bad_answer(fmt::format("gives {} two sizes", printable(path)));
    }
    if (repository.models.size() >= k_most_listed_files)
        return bad_answer(fmt::format("has more than {} models", k_most_listed_files));
    repository.models.push_back(std::move(file));
    return {};
}

// A file that is named again is the same file, unless its size or digest is another.
Status merge_repeated(std::vector<ListedFile>& files) {
    std::vector<ListedFile> once;
    std::map<std::string, size_t> places;
    for (ListedFile& file : files) {
        const auto [place, is_new] = places.try_emplace(file.path, once.size());
        if (is_new) {
            once.push_back(std::move(file));
            continue;
        }
        const ListedFile& before = once[place->second];
        if (file.bytes != before.bytes || file.sha256 != before.sha256)
            return bad_answer(fmt::format("names {} twice, as two different files", printable(file.path)));
    }
    files = std::move(once);
    return {};
}

std::string listed_size(uint64_t bytes) { return fmt::format("{:.1f} GiB", gib(bytes)); }

// "Q4_K_S (16.1 GiB), IQ4_XS (15.0 GiB)"
std::string choices_text(const std::vector<ModelFiles>& models, bool by_name) {
    std::string text;
    for (size_t i = 0; i < std::min(models.size(), k_most_shown); i++)
        text +=
            fmt::format("{}{} ({})", i ? ", " : "",
                        by_name || models[i].label.empty() ? printable(models[i].name()) : models[i].label,
                        listed_size(models[i].bytes()));
    if (models.size() > k_most_shown) text += fmt::format(" and {} more", models.size() - k_most_shown);
    return text;
}

// Each model of a repository; a split one with the parts that are there.
std::vector<ModelFiles> group_files(const Repository& repository) {
    std::map<std::string, ModelFiles> models;
    for (const ListedFile& file : repository.models) {
        const auto split = parse_split_name(file.path);
        ModelFiles& model = models[split ? fmt::format("{}/{}", split->prefix, split->count) : file.path];
        model.label = quant_label(file.path);
        model.files.push_back(file);
    }
    std::vector<ModelFiles> out;
    for (auto& [key, model] : models) {
        std::sort(model.files.begin(), model.files.end(),
                  [](const ListedFile& a, const ListedFile& b) { return a.path < b.path; });
        out.push_back(std::move(model));
    }
    return out;
}

Status check_complete(const ModelFiles& model) {
    const auto split = parse_split_name(model.files.front().path);
    if (!split) return {};
    if (split->count > k_most_parts) return bad_answer(fmt::format("has a model in {} parts", split->count));
    for (uint32_t part = 1; part <= split->count; part++) {
        const bool there = part <= model.files.size() && model.files[part - 1].path == split->of(part);
        if (!there)
            return Error{Code::not_found,
                         fmt::format("{} is not in the repository", printable(split->of(part))),
                         "The model cannot be used without all of its parts: take another quantisation."};
    }
    return {};
}

// The labels nearest to the wanted one first: by bits, then as the repository has them.
Error no_such_quant(std::vector<ModelFiles> models, const std::string& wanted) {
    const int bits = label_bits(wanted);
    const auto distance = [&](const ModelFiles& m) { return std::abs(label_bits(m.label) - bits); };
    std::stable_sort(models.begin(), models.end(),
                     [&](const ModelFiles& a, const ModelFiles& b) { return distance(a) < distance(b); });
    return Error{Code::not_found, fmt::format("the repository has no {}", printable(wanted)),
                 fmt::format("Choose by --quant: {}.", choices_text(models, false))};
}

Expected<ModelFiles> only_one(std::vector<ModelFiles> found) {
    if (found.size() > 1)
        return Error{Code::invalid, fmt::format("{} models of the repository fit", found.size()),
                     fmt::format("Choose by --file: {}.", choices_text(found, true))};
    if (Status s = check_complete(found.front()); !s) return s.error();
    return std::move(found.front());
}

std::vector<ModelFiles> with_label(const std::vector<ModelFiles>& models, const std::string& label) {
    std::vector<ModelFiles> found;
    for (const ModelFiles& model : models)
        if (model.label == label) found.push_back(model);
    return found;
}

bool is_file_of(const ModelFiles& model, const std::string& wanted) {
    return std::any_of(model.files.begin(), model.files.end(), [&](const ListedFile& file) {
        return file.path == wanted || file.path.substr(file.path.rfind('/') + 1) == wanted;
    });
}

Expected<ModelFiles> choose_by_file(const std::vector<ModelFiles>& models, const std::string& wanted) {
    std::vector<ModelFiles> found;
    for (const ModelFiles& model : models)
        if (is_file_of(model, wanted)) found.push_back(model);
    if (found.empty())
        return Error{Code::not_found, fmt::format("the repository has no file {}", printable(wanted)),
                     fmt::format("It has {}.", choices_text(models, true))};
    return only_one(std::move(found));
}

}  // namespace

uint64_t ModelFiles::bytes() const {
    uint64_t sum = 0;
    for (const ListedFile& file : files) sum += file.bytes;
    return sum;
}

std::string ModelFiles::name() const { return files.front().path; }

Status check_remote_path(std::string_view path) {
    const auto refuse = [&](std::string_view why) {
        return Error{Code::invalid, fmt::format("the server's list has a file {}, {}", printable(path), why),
                     "Nothing was downloaded. Do not trust this server."};
    };
    if (path.empty() || path.size() > k_longest_path) return refuse("whose name no file can have");
    for (const char c : path)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '\\')
            return refuse("whose name holds characters that no file should have");
    for (size_t at = 0; at <= path.size();) {
        const size_t end = std::min(path.find('/', at), path.size());
        const std::string_view name = path.substr(at, end - at);
        if (name.empty() || name.front() == '.')
            return refuse("which would lie outside its folder or be hidden");
        if (name.size() > k_longest_component) return refuse("whose name is too long");
        at = end + 1;
    }
    return {};
}

Status add_tree_page(std::string_view text, Repository& repository) {
    const auto json = parse_answer(text);
    if (!json) return json.error();
    if (!json->is_array()) return bad_answer("is no list");
    for (const Json& entry : *json)
        if (Status s = add_entry(entry, repository); !s) return s;
    return merge_repeated(repository.models);
}

Expected<ListedFile> parse_manifest(std::string_view text, std::string path) {
    const auto json = parse_answer(text);
    if (!json) return json.error();
    const auto layers = json->is_object() ? json->find("layers") : json->end();
    if (!json->is_object() || layers == json->end() || !layers->is_array())
        return bad_answer("names no layers");
    std::vector<ListedFile> models;
    for (const Json& layer : *layers) {
        if (!layer.is_object() || text_member(layer, "mediaType") != "application/vnd.ollama.image.model")
            continue;
        const auto bytes = size_member(layer, "size");
        const std::string digest = text_member(layer, "digest");
        if (!bytes || !digest.starts_with("sha256:") || !is_sha256(std::string_view(digest).substr(7)))
            return bad_answer("gives a model without size and digest");
        models.push_back({path, *bytes, digest.substr(7)});
    }
    if (models.size() != 1)
        return Error{Code::unsupported,
                     fmt::format("the model has {} GGUF files in this library, not one", models.size()),
                     "Take the model from a repository of GGUF files instead."};
    return std::move(models.front());
}

Expected<Repository> list_repository(const ModelSource& source, const HubServers& servers,
                                     const Patience& patience) {
    const std::string place = fmt::format("{}/{}", source.owner, source.name);
    const auto server = parse_url(servers.hub + "/");
    if (!server) return server.error();
    HttpClient client(servers.token);
    Repository repository;
    std::string url =
        fmt::format("{}/api/models/{}/tree/{}?recursive=true", servers.hub, place, source.revision);
    for (int page = 0; !url.empty(); page++) {
        if (page == k_most_pages) return bad_answer("has no end").within(place);
        auto answer =
            client.get_text({.url = url, .most = k_most_page_bytes, .seconds = k_list_seconds}, patience);
        if (!answer) return answer.error();
        if (Status s = add_tree_page(answer->body, repository); !s) return s.error().within(place);
        url = answer->next;
        if (url.starts_with('/')) url = servers.hub + url;
        const auto next = url.empty() ? server : parse_url(url);
        if (!next || next->origin != server->origin)
            return bad_answer("goes on at another server").within(place);
    }
    return repository;
}

Expected<ListedFile> read_manifest(const ModelSource& source, const HubServers& servers,
                                   const Patience& patience) {
    HttpClient client;
    const std::string url =
        fmt::format("{}/v2/{}/{}/manifests/{}", servers.ollama, source.owner, source.name, source.revision);
    const auto answer = client.get_text({.url = url,
                                         .accept = "application/vnd.docker.distribution.manifest.v2+json",
                                         .most = k_most_page_bytes,
                                         .seconds = k_list_seconds},
                                        patience);
    if (!answer) return answer.error();
    auto file = parse_manifest(answer->body, source.revision + ".gguf");
    if (!file) return file.error().within(source.word);
    return file;
}

Expected<ModelFiles> choose_model(const Repository& repository, const ModelSource& source) {
    const std::vector<ModelFiles> models = group_files(repository);
    if (models.empty())
        return Error{
            Code::not_found, "the repository has no GGUF file",
            repository.has_other_weights
                ? "Its weights are in another form: look for a repository of the same model whose name "
                  "ends in GGUF."
                : "Check the name."};
    if (!source.file.empty()) return choose_by_file(models, source.file);
    if (source.quant.empty() && models.size() == 1) return only_one(models);
    const std::string wanted = source.quant.empty() ? "Q4_K_M" : source.quant;
    std::vector<ModelFiles> found = with_label(models, wanted);
    if (found.empty()) found = with_label(models, "UD-" + wanted);
    if (found.empty()) return no_such_quant(models, wanted);
    return only_one(std::move(found));
}

}  // namespace ft
