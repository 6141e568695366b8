#include "cli/served_model_info.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/bytes.h"
#include "gguf/gguf.h"
#include "gguf/summary.h"
#include "hub/sha256.h"
#include "io/file.h"
#include "text/chat_template.h"

namespace ft::cli {

namespace {

int64_t modified(const std::string& path) {
    struct stat status{};
    return ::stat(path.c_str(), &status) == 0 ? static_cast<int64_t>(status.st_mtime) : 0;
}

Status add_header(const Gguf::Part& part, Sha256& digest) {
    const auto file = File::open(part.path);
    if (!file) return file.error();
    const uint64_t end = std::min(part.data_start, (*file)->size());
    std::vector<std::byte> block(k_mib);
    for (uint64_t at = 0; at < end; at += k_mib) {
        const auto to = std::span(block).first(std::min<uint64_t>(k_mib, end - at));
        if (Status s = (*file)->read_at(at, to); !s) return s;
        digest.add(to);
    }
    const std::string length = fmt::format("{}\n", part.size_bytes);
    digest.add(std::as_bytes(std::span(length)));
    return {};
}

Expected<std::string> model_digest(const Gguf& file) {
    Sha256 digest;
    for (const Gguf::Part& part : file.parts())
        if (Status s = add_header(part, digest); !s) return s.error();
    return digest.hex();
}

}  // namespace

std::string served_name(const ModelChoice& choice) {
    if (choice.settings.has("model.served_model_name"))
        return choice.settings.text("model.served_model_name");
    return choice.name.empty() ? std::filesystem::path(choice.path).stem().string() : choice.name;
}

Expected<ServedModelInfo> served_model_info(std::string name, const std::string& path,
                                            const ChatTemplate* chat_template) {
    const Expected<Gguf> file = Gguf::open(path);
    if (!file) return file.error();
    Expected<std::string> digest = model_digest(*file);
    if (!digest) return digest.error();
    const Summary summary = summarise(*file);
    const Expected<int64_t> width = file->get_int(summary.architecture + ".embedding_length", 0);
    return ServedModelInfo{.name = std::move(name),
                           .created = modified(path),
                           .digest = std::move(*digest),
                           .bytes = static_cast<int64_t>(file->file_bytes()),
                           .parameters = static_cast<int64_t>(summary.total_parameters),
                           .quantisation = summary.quantisation,
                           .architecture = summary.architecture,
                           .trained_context = summary.context_length.value_or(0),
                           .template_text = chat_template ? chat_template->source() : "",
                           .embedding_length = width ? *width : 0,
                           .vocabulary = summary.vocab_size.value_or(0),
                           .tools = chat_template && chat_template->names_tools(),
                           .thinking = chat_template && chat_template->names_thinking()};
}

}  // namespace ft::cli
