// Any bytes as what a server lists: a page of a hub or a manifest. What is taken has sizes, digests and names
// that can be used, and a choice is a model or a sentence.
#include <string_view>

#include "hub/listing.h"
#include "hub/quant_label.h"
#include "hub/sha256.h"

namespace {

void check_listed(const ft::ListedFile& file) {
    ft::check(file.bytes > 0 && file.bytes <= ft::k_largest_model_bytes, "a size is possible");
    ft::check(file.sha256.empty() || ft::is_sha256(file.sha256), "a digest is one");
    ft::check(static_cast<bool>(ft::check_remote_path(file.path)), "a path stays in its folder");
    ft::check(ft::label_bits(ft::quant_label(file.path)) <= 32, "a label says bits");
}

}  // namespace

// The first byte chooses the form.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
    if (data[0] % 2 == 1) {
        const auto file = ft::parse_manifest(text, "latest.gguf");
        if (file) check_listed(*file);
        else ft::check(!file.error().what.empty(), "an error has a sentence");
        return 0;
    }
    ft::Repository repository;
    if (const ft::Status s = ft::add_tree_page(text, repository); !s) return 0;
    for (const ft::ListedFile& file : repository.models) check_listed(file);
    const auto model = ft::choose_model(repository, {});
    if (model) ft::check(!model->files.empty() && model->bytes() > 0, "a model has files");
    else ft::check(!model.error().remedy.empty(), "an error has a remedy");
    return 0;
}
