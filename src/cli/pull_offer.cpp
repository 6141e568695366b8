#include "cli/pull_offer.h"

#include <algorithm>

#include "base/system_error.h"
#include "gguf/split.h"
#include "hub/listing.h"
#include "hub/store.h"
#include "hub/url.h"

namespace ft::cli {

namespace {

// The first file is asked for, because a list may be older than the file, and to see whether parts are sent.
Status compare_with_server(PullOffer& offer, const HttpToken& token, const Patience& patience) {
    const RemotePart& first = offer.parts.front();
    const auto probed = probe(first.url, token, patience);
    if (!probed) return probed.error();
    if (probed->bytes != first.bytes)
        return Error{Code::io,
                     fmt::format("{}: the list says {} bytes, and the file has {}",
                                 path_text(shown_url(first.url)), first.bytes, probed->bytes),
                     "The model was replaced just now, or the server is broken: try again later."};
    for (RemotePart& part : offer.parts) part.ranges = probed->ranges;
    return {};
}

Expected<PullOffer> hub_offer(const ModelSource& source, const HubServers& servers, const std::string& store,
                              const Patience& patience) {
    const std::string place = fmt::format("{}/{}", source.owner, source.name);
    const auto repository = list_repository(source, servers, patience);
    if (!repository) return repository.error();
    const auto model = choose_model(*repository, source);
    if (!model) return model.error().within(place);
    PullOffer offer{.name = model->name(), .parts = {}};
    for (const ListedFile& file : model->files)
        offer.parts.push_back({.url = fmt::format("{}/{}/resolve/{}/{}", servers.hub, place, source.revision,
                                                  url_path(file.path)),
                               .path = store_path(store, source, file.path),
                               .bytes = file.bytes,
                               .sha256 = file.sha256});
    return offer;
}

Expected<PullOffer> ollama_offer(const ModelSource& source, const HubServers& servers,
                                 const std::string& store, const Patience& patience) {
    const auto file = read_manifest(source, servers, patience);
    if (!file) return file.error();
    const std::string url =
        fmt::format("{}/v2/{}/{}/blobs/sha256:{}", servers.ollama, source.owner, source.name, file->sha256);
    return PullOffer{.name = source.word,
                     .parts = {{.url = url,
                                .path = store_path(store, source, file->path),
                                .bytes = file->bytes,
                                .sha256 = file->sha256}}};
}

// The addresses of all parts, where the address names one of a split model.
std::vector<std::string> split_urls(const std::string& url) {
    const size_t end = std::min(url.find_first_of("?#"), url.size());
    const auto split = parse_split_name(url.substr(0, end));
    if (!split) return {url};
    std::vector<std::string> urls;
    for (uint32_t part = 1; part <= split->count; part++) urls.push_back(split->of(part) + url.substr(end));
    return urls;
}

Expected<PullOffer> url_offer(const ModelSource& source, const std::string& store, const Patience& patience) {
    PullOffer offer;
    for (const std::string& url : split_urls(source.url)) {
        const auto parsed = parse_url(url);
        if (!parsed) return parsed.error();
        std::string name = parsed->path.substr(parsed->path.rfind('/') + 1);
        if (name.empty())
            return Error{Code::invalid,
                         fmt::format("{}: the address names no file", path_text(shown_url(url))),
                         "Give the address of a GGUF file."};
        if (!name.ends_with(".gguf")) name += ".gguf";
        if (Status s = check_remote_path(name); !s) return s.error();
        auto part = probe(url, {}, patience);
        if (!part) return part.error();
        part->path = store_path(store, source, name);
        if (offer.parts.empty()) offer.name = name;
        offer.parts.push_back(std::move(*part));
    }
    return offer;
}

}  // namespace

uint64_t PullOffer::bytes() const {
    uint64_t sum = 0;
    for (const RemotePart& part : parts) sum += part.bytes;
    return sum;
}

Expected<PullOffer> find_offer(const ModelSource& source, const HubServers& servers, const std::string& store,
                               const std::string& word, const Patience& patience) {
    const bool listed = source.kind != ModelSource::Kind::url;
    auto offer = source.kind == ModelSource::Kind::hub      ? hub_offer(source, servers, store, patience)
                 : source.kind == ModelSource::Kind::ollama ? ollama_offer(source, servers, store, patience)
                                                            : url_offer(source, store, patience);
    if (!offer) return offer;
    for (RemotePart& part : offer->parts) part.word = word;
    const HttpToken token = source.kind == ModelSource::Kind::hub ? servers.token : HttpToken{};
    if (listed)
        if (Status s = compare_with_server(*offer, token, patience); !s) return s.error();
    return offer;
}

}  // namespace ft::cli
