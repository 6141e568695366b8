#include "gguf/foreign.h"

#include <algorithm>

#include "io/file.h"

namespace ft {

namespace {

struct Kind {
    std::string_view magic;
    size_t at;
    std::string_view is;
    std::string_view remedy;
};

constexpr std::string_view k_convert =
    "Convert the model to GGUF, or get a GGUF file of it: `freetoken pull OWNER/REPO-GGUF`.";
constexpr std::string_view k_old = "This format came before GGUF: download a current GGUF file of the model.";
constexpr std::string_view k_unpack = "Unpack it first.";
constexpr std::string_view k_page = "What was saved is a web page: download the file itself.";

constexpr Kind k_kinds[] = {
    {"FUGG", 0, "the byte-swapped magic FUGG",
     "Big-endian files are not supported: download the usual little-endian one."},
    {"GGML", 0, "the magic GGML", k_old},
    {"lmgg", 0, "the magic of an old GGML file", k_old},
    {"tjgg", 0, "the magic of an old GGJT file", k_old},
    {"fmgg", 0, "the magic of an old GGMF file", k_old},
    {"algg", 0, "the magic of an old GGLA adapter", k_old},
    {"PK\x03\x04", 0, "a zip archive (perhaps PyTorch weights)", k_convert},
    {"\x80\x02", 0, "a Python pickle (perhaps PyTorch weights)", k_convert},
    {"{\"", 8, "safetensors weights", k_convert},
    {"\x89HDF", 0, "an HDF5 file", k_convert},
    {"\x1f\x8b", 0, "a gzip archive", k_unpack},
    {"\xfd"
     "7zXZ",
     0, "an xz archive", k_unpack},
    {"\x28\xb5\x2f\xfd", 0, "a zstd archive", k_unpack},
    {"7z\xbc\xaf", 0, "a 7z archive", k_unpack},
    {"BZh", 0, "a bzip2 archive", k_unpack},
    {"version https://git-lfs", 0, "a git-lfs pointer", "Fetch the file itself with `git lfs pull`."},
    {"<!DOCTYPE", 0, "HTML", k_page},
    {"<!doctype", 0, "HTML", k_page},
    {"<html", 0, "HTML", k_page},
};

bool looks_like_text(std::string_view bytes) {
    return !bytes.empty() && std::all_of(bytes.begin(), bytes.end(), [](char c) {
        return static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\r' || c == '\t';
    });
}

// Some sites cut one file into raw pieces, which have to be joined; only the first of them begins with a
// magic.
bool named_like_a_piece(const std::string& path) {
    const std::string name = path.substr(path.find_last_of('/') + 1);
    const size_t part = name.rfind(".part");
    if (part != std::string::npos && part + 5 < name.size() && name[part + 5] >= '0' && name[part + 5] <= '9')
        return true;
    const size_t split = name.rfind("-split-");
    return split != std::string::npos && split + 8 == name.size();
}

}  // namespace

Error not_gguf(const std::string& path, std::string_view beginning) {
    const auto error = [&](std::string_view is, std::string_view remedy) {
        return Error{Code::invalid, fmt::format("{}: not a GGUF file: {}", path_text(path), is),
                     std::string(remedy)};
    };
    if (beginning.empty()) return error("it is empty", "Download the file again.");
    if (beginning.size() < 4) {
        return Error{
            Code::truncated,
            fmt::format("{}: not a GGUF file: it has only {} bytes", path_text(path), beginning.size()),
            "Download the file again."};
    }
    for (const Kind& kind : k_kinds) {
        if (beginning.size() > kind.at && beginning.substr(kind.at).starts_with(kind.magic))
            return error(fmt::format("it begins like {}", kind.is), kind.remedy);
    }
    if (named_like_a_piece(path))
        return error("it is a later piece of one",
                     "Join all pieces in order with `cat` and open the result.");
    if (looks_like_text(beginning)) return error("it is text", "Name a model file that ends in .gguf.");
    return error(
        fmt::format("it begins with \"{}\" instead of the magic \"GGUF\"", printable(beginning.substr(0, 4))),
        "Name a model file that ends in .gguf.");
}

}  // namespace ft
