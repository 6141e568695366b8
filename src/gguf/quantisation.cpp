#include "gguf/quantisation.h"

#include <algorithm>
#include <map>

#include "gguf/tensor_type.h"

namespace ft {

namespace {

struct FileType {
    int64_t number;
    std::string_view name;
};

// general.file_type, in the numbering that quantisers share.
constexpr FileType k_file_types[] = {
    {0, "F32"},     {1, "F16"},     {2, "Q4_0"},     {3, "Q4_1"},    {7, "Q8_0"},     {8, "Q5_0"},
    {9, "Q5_1"},    {10, "Q2_K"},   {11, "Q3_K_S"},  {12, "Q3_K_M"}, {13, "Q3_K_L"},  {14, "Q4_K_S"},
    {15, "Q4_K_M"}, {16, "Q5_K_S"}, {17, "Q5_K_M"},  {18, "Q6_K"},   {19, "IQ2_XXS"}, {20, "IQ2_XS"},
    {21, "Q2_K_S"}, {22, "IQ3_XS"}, {23, "IQ3_XXS"}, {24, "IQ1_S"},  {25, "IQ4_NL"},  {26, "IQ3_S"},
    {27, "IQ3_M"},  {28, "IQ2_S"},  {29, "IQ2_M"},   {30, "IQ4_XS"}, {31, "IQ1_M"},   {32, "BF16"},
    {36, "TQ1_0"},  {37, "TQ2_0"},  {38, "MXFP4"},   {39, "NVFP4"},  {40, "Q1_0"},    {41, "Q2_0"},
};
constexpr int64_t k_guessed = 1024;  // added to the number by a tool that only guessed

std::string_view hinted_name(const Gguf& gguf) {
    const Expected<int64_t> number = gguf.get_int("general.file_type", -1);
    if (!number || *number < 0) return {};
    const auto found = std::find_if(std::begin(k_file_types), std::end(k_file_types),
                                    [&](const FileType& type) { return type.number == *number % k_guessed; });
    return found == std::end(k_file_types) ? std::string_view() : found->name;
}

// "Q4_K_M" and "Q4_0" are of family "Q4_", "F16" is its own.
std::string_view family(std::string_view name) { return name.substr(0, name.find('_')); }

}  // namespace

std::string quantisation_name(const Gguf& gguf) {
    std::map<std::string, uint64_t> bytes;  // of matrices; vectors are F32 everywhere
    for (const TensorInfo& tensor : gguf.tensors())
        if (tensor.n_dims > 1) bytes[tensor_type_name(tensor.type)] += tensor.bytes;
    if (bytes.empty()) return "";
    if (bytes.size() > 1) bytes.erase("F32");  // routers and convolutions, whatever the rest
    const auto most = std::max_element(bytes.begin(), bytes.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    const std::string_view hint = hinted_name(gguf);
    const bool agrees = std::any_of(bytes.begin(), bytes.end(),
                                    [&](const auto& entry) { return family(entry.first) == family(hint); });
    const bool plain =
        hint == "F32" || hint == "F16" || hint == "BF16";  // also what a missing value looks like
    if (!hint.empty() && agrees && (!plain || most->first == hint)) return std::string(hint);
    return bytes.size() == 1 ? most->first : "mostly " + most->first;
}

}  // namespace ft
