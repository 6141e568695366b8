#include "engine/expert_profile.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "device/profile.h"
#include "io/file.h"
#include "io/output_file.h"

namespace ft {

namespace {

constexpr char k_profile_magic[8] = {'F', 'T', 'E', 'X', 'P', '0', '0', '1'};

// FNV-1a: a name for a file, nothing more.
uint64_t hash_of(std::string_view text, uint64_t hash = 0xcbf29ce484222325) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return hash;
}

uint64_t check_sum(const std::vector<uint32_t>& uses) {
    return hash_of({reinterpret_cast<const char*>(uses.data()), uses.size() * sizeof(uint32_t)});
}

}  // namespace

ExpertProfile::ExpertProfile(const Gguf& file, size_t n_layer, size_t n_expert)
    : n_layer_(n_layer), n_expert_(n_expert) {
    const std::string folder = cache_folder();
    if (folder.empty()) return;
    std::error_code failed;
    const std::filesystem::path absolute = std::filesystem::absolute(file.path(), failed);
    path_ = fmt::format(
        "{}/experts-{:016x}.bin", folder,
        hash_of(fmt::format("{} {} {} {}", absolute.string(), file.file_bytes(), n_layer, n_expert)));
}

std::vector<uint32_t> ExpertProfile::read() const {
    std::error_code failed;
    if (path_.empty() || !std::filesystem::exists(path_, failed)) return {};
    auto file = File::open(path_);
    if (!file) return {};
    std::vector<uint32_t> uses(n_layer_ * n_expert_);
    char magic[sizeof k_profile_magic];
    uint64_t sum = 0;
    if ((*file)->size() != sizeof magic + sizeof sum + uses.size() * sizeof(uint32_t)) return {};
    if (!(*file)->read_at(0, std::as_writable_bytes(std::span(magic))) ||
        !(*file)->read_at(sizeof magic, std::as_writable_bytes(std::span(&sum, 1))) ||
        !(*file)->read_at(sizeof magic + sizeof sum, std::as_writable_bytes(std::span(uses))))
        return {};
    if (std::memcmp(magic, k_profile_magic, sizeof magic) != 0 || sum != check_sum(uses)) return {};
    return uses;
}

void ExpertProfile::write(const std::vector<uint32_t>& uses) const {
    if (path_.empty()) return;
    std::error_code failed;
    std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), failed);
    std::vector<uint32_t> halved = uses;
    for (uint32_t& n : halved) n -= n / 2;
    const uint64_t sum = check_sum(halved);
    auto file = OutputFile::create(path_, 0600);  // it tells something of what was asked
    if (!file) return;
    if (file->write(std::as_bytes(std::span(k_profile_magic))) &&
        file->write(std::as_bytes(std::span(&sum, 1))) && file->write(std::as_bytes(std::span(halved))))
        (void)static_cast<bool>(file->commit());
}

std::vector<std::pair<int, int>> ExpertProfile::hottest(const std::vector<uint32_t>& uses) const {
    std::vector<size_t> order;
    for (size_t i = 0; i < uses.size(); i++)
        if (uses[i] > 0) order.push_back(i);
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return uses[a] != uses[b] ? uses[a] > uses[b] : a < b; });
    std::vector<std::pair<int, int>> experts;
    for (size_t i : order)
        experts.emplace_back(static_cast<int>(i / n_expert_), static_cast<int>(i % n_expert_));
    return experts;
}

}  // namespace ft
